"""Counting an order of Messages: who is asked, what that takes at an account, and when our own count is told."""

import json
from collections.abc import Sequence
from uuid import uuid4

import msgspec
import pytest

from tests.relay.fakes import Reply
from tests.relay.house import House, Request, a_model, an_account
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.dialects.messages.order import read_count
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import Failure, ProviderAccount
from tollkeeper.relay.count_tokens import count_tokens

THEIRS = 77
SAID = Reply(json.dumps({"input_tokens": THEIRS}).encode())
BOTH = (an_account(1, vendor="anthropic"), an_account(2, vendor="anthropic"))
THINKS_NOT = an_account(1, vendor="anthropic", rejects=frozenset({"thinking"}))


def asked(words: str = "hi") -> Spoken:
    turn = {"role": "user", "content": words}
    return Spoken(json.dumps({"model": "m", "messages": [turn], "thinking": {"type": "adaptive"}}).encode())


def ours(spoken: Spoken) -> int:
    return read_count(spoken).input_tokens(part_tokens=0)


def a_house(*replies: Reply, accounts: Sequence[ProviderAccount] = BOTH) -> House:
    return House(*replies, accounts=accounts)


async def count(house: House, spoken: Spoken) -> int:
    async def read() -> Spoken:
        return spoken

    counted = await count_tokens(Request(uuid4()), read, house.relay)
    assert house.pool.taken == []
    assert house.upstream.open == []
    return counted


@in_virtual_time
async def test_while_a_provider_counts_its_account_has_one_seat_less() -> None:
    taken: list[int] = []
    replies = [
        Reply(before=[lambda house: taken.append(len(house.pool.taken)), *how]) for how in ([Failure.BROKEN], [])
    ]
    house = a_house(*replies)
    assert await count(house, asked()) == ours(asked())
    assert taken == [1, 1]
    assert house.pool.left == [("account 1", 0), ("account 2", 0)]


@in_virtual_time
async def test_who_takes_too_long_to_count_has_its_seat_back() -> None:
    house = a_house(Reply(before=[4.9], status=500), Reply(60.0, before=[4.9]))
    assert await count(house, asked()) == ours(asked())
    assert house.pool.failed == []


@pytest.mark.parametrize(
    ("reply", "failed"),
    [
        (Reply(before=[Failure.UNREACHABLE]), [("account 1", Trouble.SERVER, None)]),
        (Reply(status=401), [("account 1", Trouble.CREDENTIAL, None)]),
        (Reply(status=404), []),
        (Reply(status=429), []),
        (Reply(status=500), []),
        (Reply(b'{"error": {"message": "no"}}', status=400), []),
        (Reply(b"{}"), []),
    ],
    ids=["nobody there", "its key", "no such address", "busy", "failed", "rejected", "no count"],
)
@in_virtual_time
async def test_the_next_account_is_asked_and_only_what_concerns_every_call_is_held_against_the_first(
    reply: Reply, failed: list[tuple[str, Trouble, float | None]]
) -> None:
    house = a_house(reply, SAID)
    assert await count(house, asked()) == THEIRS
    assert house.pool.failed == failed
    assert house.pool.left == [("account 1", 0), ("account 2", 0)]


@in_virtual_time
async def test_an_account_that_cannot_do_what_is_asked_is_passed_over() -> None:
    house = a_house(SAID, accounts=[THINKS_NOT, BOTH[1]])
    assert await count(house, asked()) == THEIRS
    house = a_house(accounts=[THINKS_NOT])
    assert await count(house, asked()) == ours(asked())


@in_virtual_time
async def test_what_a_provider_rejects_is_counted_by_us() -> None:
    house = a_house(Reply(b'{"error": {"message": "no"}}', status=400), accounts=BOTH[:1])
    assert await count(house, asked()) == ours(asked())


@in_virtual_time
async def test_what_the_model_could_not_read_is_sent_to_nobody() -> None:
    house = a_house()
    model = a_model("m", limits=TokenCaps(context_tokens=ours(asked()) - 1))
    house.catalog.on_offer = msgspec.structs.replace(house.catalog.on_offer, models={"m": model})
    assert await count(house, asked()) == ours(asked())
    assert house.upstream.requests == []
