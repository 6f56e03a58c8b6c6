"""Code batches over the operator API: made once, shown once, expiring, revoked; and codes redeemed for accounts."""

import asyncpg
from starlette.applications import Starlette

from tests.office.staff import OWNER, StaffClient, a_key, refused, told
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.codes import NewBatchWish, make_codes
from tollkeeper.office.desks import Office

WISH = {"codes": 2, "usd": "10", "note": "spring sale", "reason": "a fair"}


async def money_of(api: Starlette, office: Office) -> StaffClient:
    return StaffClient(api, await a_key(office, "till", Scope.MONEY))


async def test_a_batch_is_made_once_shown_once_and_its_codes_are_nowhere_else(
    api: Starlette, office: Office, owner: asyncpg.Connection
) -> None:
    till = await money_of(api, office)
    made = [told(await till.post("/code-batches", once="march", **WISH)) for _ in range(3)]
    assert made == [{"batch": 1, "was_before": False}] * 3
    assert await owner.fetchval("select count(*) from redemption_code") == 0
    shown = told(await till.post("/code-batches/1/export", reason="handed out"))
    assert len(set(shown["codes"])) == 2
    assert shown["each"] == {"micro_usd": 10_000_000, "usd": "10.00"}
    again = await till.post("/code-batches/1/export", reason="handed out")
    assert refused(again) == (422, "refused")
    assert "shown before" in again.text
    # Neither the request book nor the audit trail has a code, nor does any later answer.
    kept = await owner.fetch("select answer::text as text from operator_request union select detail::text from audit")
    pages = [(await till.get(path)).text for path in ("/code-batches", "/code-batches/1")]
    for code in shown["codes"]:
        assert not any(code in text for text in (*pages, *(row["text"] or "" for row in kept)))
    acts = await owner.fetch("select actor, action from audit where action like 'codes.%' order by id")
    assert [tuple(row) for row in acts] == [("operator:till", "codes.make"), ("operator:till", "codes.export")]


async def test_a_batch_whose_answer_was_lost_is_not_made_twice(api: Starlette, office: Office) -> None:
    """Whoever was to answer was killed after the database had it."""
    till = await money_of(api, office)
    await make_codes(office, NewBatchWish(once="operator:till:lost", codes=2, usd="10", reason="a fair"), OWNER)
    assert told(await till.post("/code-batches", once="lost", **WISH)) == {"batch": 1, "was_before": True}
    other = StaffClient(api, await a_key(office, "other", Scope.MONEY))
    # The same key of another asker is another name.
    assert not told(await other.post("/code-batches", once="lost", **WISH))["was_before"]
    assert len(told(await other.get("/code-batches"))["data"]) == 2


async def test_codes_are_redeemed_for_an_account_until_they_expire_or_are_revoked(
    api: Starlette, office: Office, owner: asyncpg.Connection
) -> None:
    till = await money_of(api, office)
    account = await office.accounts.create("Ada", "standard", actor="a test")
    told(await till.post("/code-batches", once="a", valid_days=30, **WISH))
    first, second = told(await till.post("/code-batches/1/export", reason="handed out"))["codes"]
    path = f"/accounts/{account}/redeem"
    done = told(await till.post(path, once="1", code=first, reason="they asked"))
    assert (done["paid"]["usd"], done["was_before"]) == ("10.00", False)
    assert told(await till.post(path, once="2", code=first, reason="they asked"))["was_before"]
    await owner.execute("update redemption_batch set made_at = made_at - interval '31 days', expires_at = ledger_now()")
    assert refused(await till.post(path, once="3", code=second, reason="they asked")) == (422, "refused")
    await owner.execute("update redemption_batch set expires_at = ledger_now() + interval '1 day'")
    assert told(await till.post("/code-batches/1/revoke", reason="stolen")) == {"codes": 1}
    assert told(await till.post("/code-batches/1/revoke", reason="stolen")) == {"codes": None}
    assert refused(await till.post(path, once="3", code=second, reason="they asked")) == (422, "refused")
    shown = told(await till.get("/code-batches/1"))
    assert (shown["redeemed"], shown["revoked_by"], shown["revoke_reason"]) == (1, "operator:till", "stolen")
    assert await owner.fetchval("select actor from audit where action = 'code.redeem'") == "operator:till"


async def test_batches_are_listed_in_pages(api: Starlette, office: Office) -> None:
    till = await money_of(api, office)
    for number in range(5):
        told(await till.post("/code-batches", once=str(number), **WISH))
    page = told(await till.get("/code-batches", limit=3))
    rest = told(await till.get("/code-batches", limit=3, after=page["next"]))
    assert [row["id"] for row in page["data"] + rest["data"]] == [5, 4, 3, 2, 1]
    assert rest["next"] is None
    assert refused(await till.get("/code-batches", after="OTk5OTk5OTk5OTk5OTk5OTk5OTk5")) == (400, "bad_request")


async def test_a_revoked_batch_is_not_shown_and_unknown_ones_are_not_found(api: Starlette, office: Office) -> None:
    till = await money_of(api, office)
    told(await till.post("/code-batches", once="a", **WISH))
    told(await till.post("/code-batches/1/revoke", reason="a slip"))
    assert refused(await till.post("/code-batches/1/export", reason="handed out")) == (422, "refused")
    assert refused(await till.post("/code-batches/77/export", reason="handed out")) == (404, "not_found")
    assert refused(await till.get("/code-batches/77")) == (404, "not_found")
    assert refused(await till.post("/code-batches", once="b", codes=1, usd="ten", reason="a fair")) == (422, "refused")
