"""Who is let in, and what the others are told."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tests.client import ask
from tests.customers import ACTOR, Customers
from tools.node import Node

PATHS = pytest.mark.parametrize("path", ["/v1/models", "/v2/account/balance", "/v2/token/balance"])


@PATHS
@pytest.mark.rule("A1.1")
async def test_the_word_one_space_and_the_key_are_all_required(node: Node, townsfolk: Customers, path: str) -> None:
    key = (await townsfolk.a_customer()).key
    assert ask(node, path, headers={"Authorization": f"Bearer {key}"}).status == 200
    for wrong in (key, f"Bearer  {key}", f"Bearer{key}", f"bearer {key}", f"Basic {key}", "Bearer ", f"Bearer {key} x"):
        answer = ask(node, path, headers={"Authorization": wrong})
        assert answer.status == 401, wrong
        assert answer.error["type"] == "authentication_error"


@PATHS
@pytest.mark.rule("A4.1", "E1.2", "E2.3")
async def test_without_a_key_it_is_401_and_says_how_to_send_one(node: Node, path: str) -> None:
    answer = ask(node, path)
    assert answer.status == 401
    assert "Authorization: Bearer" in answer.error["message"]
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.rule("A4.1")
async def test_keys_that_do_not_exist_all_get_the_same_answer(node: Node, townsfolk: Customers) -> None:
    real = (await townsfolk.a_customer()).key
    changed = real[:-1] + ("A" if real[-1] != "A" else "B")
    answers = [ask(node, "/v1/models", key=key) for key in ("sk-", "nonsense", "sk-" + "x" * 49, changed, real[:-1])]
    assert {answer.status for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1


@pytest.mark.rule("A4.1")
async def test_a_key_that_existed_is_told_why_it_is_refused(
    node: Node, townsfolk: Customers, town: tuple[dict[str, str], Customers]
) -> None:
    expired = await townsfolk.a_customer()
    connection = await asyncpg.connect(town[0]["TOLLKEEPER_DATABASE_URL"])
    await connection.execute("update tollkeeper.api_key set expires_at = now() where id = $1", expired.key_id)
    await connection.close()
    revoked = await townsfolk.a_customer()
    await townsfolk.desk.keys.revoke(revoked.key_id, account_id=revoked.account_id, actor=ACTOR)
    answers = [ask(node, "/v1/models", key=customer.key) for customer in (expired, revoked)]
    assert [answer.status for answer in answers] == [401, 401]
    assert [answer.error["code"] for answer in answers] == ["expired_api_key", "revoked_api_key"]


@PATHS
@pytest.mark.rule("A4.2")
async def test_the_key_of_a_disabled_account_is_403(
    node: Node, townsfolk: Customers, town: tuple[dict[str, str], Customers], path: str
) -> None:
    customer = await townsfolk.a_customer()
    connection = await asyncpg.connect(town[0]["TOLLKEEPER_DATABASE_URL"])
    await connection.execute("update tollkeeper.account set disabled_at = now() where id = $1", customer.account_id)
    await connection.close()
    answer = ask(node, path, key=customer.key)
    assert answer.status == 403
    assert answer.error["code"] == "account_disabled"
    assert "will not help" in answer.error["message"]


async def test_a_key_that_expires_in_a_moment_still_works(node: Node, townsfolk: Customers) -> None:
    customer = await townsfolk.a_customer(expires_at=datetime.now(UTC) + timedelta(minutes=5))
    assert ask(node, "/v1/models", key=customer.key).status == 200
