"""Restricting an account by hand, over the operator API."""

import asyncpg
from starlette.applications import Starlette

from tests.office.customers import a_login, an_account
from tests.office.staff import StaffClient, a_key, refused, told
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office


async def test_an_account_is_restricted_with_a_reason_and_freed(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    ada = await an_account(owner_client)
    path = f"/accounts/{ada}/restriction"
    done = told(await owner_client.post(path, hours=2, reason="floods us"))
    assert done["account"] == ada
    assert told(await owner_client.get(f"/accounts/{ada}"))["restricted_until"] == done["until"]
    [shown] = told(await owner_client.get(f"/accounts/{ada}/restrictions"))["restrictions"]
    assert (shown["reason"], shown["peak_seconds"], shown["in_force"]) == ("floods us", 0, True)
    assert shown["began_by"].startswith("operator:")
    assert refused(await owner_client.post(path, hours=2, reason="again")) == (409, "already_there")
    assert told(await owner_client.post(f"{path}/lift", reason="they stopped")) == {"changed": True}
    assert told(await owner_client.get(f"/accounts/{ada}"))["restricted_until"] is None
    acts = await owner.fetch("select action from audit where subject = $1 order by id desc limit 2", f"account:{ada}")
    assert [row["action"] for row in acts] == ["account.lift_restriction", "account.restrict"]
    assert refused(await owner_client.post(path, hours=2, reason=" "))[0] == 422
    assert refused(await owner_client.post("/accounts/77777/restriction", reason="who?")) == (404, "not_found")


async def test_support_restricts_no_staff(
    api: Starlette, office: Office, owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    boss = await an_account(owner_client)
    await a_login(owner, boss, "boss@people.example", "operator")
    support = StaffClient(api, await a_key(office, "helper", Scope.SUPPORT))
    assert refused(await support.post(f"/accounts/{boss}/restriction", reason="a joke"))[0] == 403
