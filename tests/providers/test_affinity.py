"""Conversations and provider accounts, at size: ten accounts, two hundred conversations, and four processes that do not
talk to each other."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import pytest

from tests.providers.test_pool import Accounts, Time, an_account
from tollkeeper.core.pool.affinity import BOUND, CALLS_LEAST
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.pool.health import Trouble
from tollkeeper.ports import ProviderAccount
from tollkeeper.providers.pool import LivePool

PROCESSES = 4
CONVERSATIONS = 200
CALLS_PER_MINUTE = 2_400
UNDER_WAY = 20
ALIKE = [1] * 10
UNLIKE = [1, 1, 1, 1, 1, 2, 2, 2, 3, 3]
HIT_SHARE_LEAST = 0.95


class House:
    """The pools of several processes, which see the same accounts."""

    def __init__(self, weights: Sequence[int], seed: int) -> None:
        self.time = Time()
        self.chance = random.Random(seed)  # noqa: S311 - chance that can be repeated, not a secret
        self.places = {number: PoolPlace(weight=weight) for number, weight in enumerate(weights, 1)}
        self.accounts = Accounts(*(an_account(number, place=place) for number, place in self.places.items()))
        self.pools = [
            LivePool(
                self.accounts,
                {"openai"},
                now=self.time,
                chance=self.chance.random,
                share=lambda: PROCESSES,
                secret=b"the same everywhere",
            )
            for _ in range(PROCESSES)
        ]

    async def account_of(self, process: int, conversation: int, by: int = 1) -> ProviderAccount:
        account = await self.pools[process].choose("m", by=by, conversation=lambda: b"%d" % conversation)
        assert account is not None
        return account

    async def homes(self, process: int = 0) -> dict[int, int]:
        return {number: (await self.account_of(process, number)).id for number in range(CONVERSATIONS)}


class Given(msgspec.Struct):
    """A call, and where it went."""

    at: float
    conversation: int
    account: int


async def converse(house: House, minutes: float, *, one_process_each: bool) -> list[Given]:
    """Calls of all conversations, in no order, some of them under way at a time."""
    given, seats = [], []
    for _ in range(round(minutes * CALLS_PER_MINUTE)):
        house.time.now += 60 / CALLS_PER_MINUTE
        number = house.chance.randrange(CONVERSATIONS)
        process = number % PROCESSES if one_process_each else house.chance.randrange(PROCESSES)
        account = await house.account_of(process, number)
        seats.append(house.pools[process].seat(account, model_id="m", by=1, tokens=10))
        if len(seats) > UNDER_WAY:
            seat = seats.pop(0)
            seat.succeed(0.5)
            seat.leave(10)
        given.append(Given(house.time.now, number, account.id))
    return given


def hit_share(given: Sequence[Given]) -> float:
    """Of the calls after a conversation's first, those at an account that has had one of its calls."""
    known: dict[int, set[int]] = defaultdict(set)
    hits = later = 0
    for one in given:
        seen = known[one.conversation]
        hits, later = hits + (one.account in seen), later + bool(seen)
        seen.add(one.account)
    return hits / later


@pytest.mark.parametrize("weights", [ALIKE, UNLIKE], ids=["alike", "by weight"])
@pytest.mark.parametrize("one_process_each", [True, False], ids=["kept connections", "any process"])
@pytest.mark.parametrize("seed", [1, 2])
async def test_conversations_meet_the_account_that_has_their_cache_and_no_account_gets_too_many(
    weights: list[int], one_process_each: bool, seed: int
) -> None:
    house = House(weights, seed)
    given = await converse(house, 2.5, one_process_each=one_process_each)
    assert hit_share(given) >= HIT_SHARE_LEAST
    # Every minute that ends within the time, in steps of five seconds.
    for end in range(int(given[0].at) + 60, int(given[-1].at), 5):
        calls = Counter(one.account for one in given if end - 60 < one.at <= end)
        for account, place in house.places.items():
            share = calls.total() * place.weight / sum(weights)
            assert share > PROCESSES * CALLS_LEAST / BOUND, "enough calls for the bound to be exact"
            assert calls[account] <= BOUND * share + PROCESSES, f"{account} got {calls[account]} of {share}"


async def test_processes_agree_where_a_conversation_is_at_home_without_talking() -> None:
    house = House(UNLIKE, 1)
    homes = [await house.homes(process) for process in range(PROCESSES)]
    assert all(other == homes[0] for other in homes)
    assert len(set(homes[0].values())) == len(UNLIKE)


async def test_one_customers_conversations_do_not_steer_anothers() -> None:
    house = House(ALIKE, 1)
    ones = [(await house.account_of(0, number, by=1)).id for number in range(CONVERSATIONS)]
    others = [(await house.account_of(0, number, by=2)).id for number in range(CONVERSATIONS)]
    same = sum(one == other for one, other in zip(ones, others, strict=True))
    assert same < CONVERSATIONS / 4, "by chance one in ten"


async def test_an_account_that_dies_moves_only_its_own_conversations_and_they_return() -> None:
    house = House(ALIKE, 1)
    before = await house.homes()
    account = house.accounts.accounts[3]
    for by in (2, 3, 2):
        house.pools[0].seat(account, model_id="m", by=by, tokens=1).fail(Trouble.SERVER, "broken")
    during = await house.homes()
    assert account.id not in during.values()
    assert {before[number] for number in before if before[number] != during[number]} == {account.id}
    house.time.now += 10
    assert await house.homes() == before


@pytest.mark.parametrize("weights", [UNLIKE, [26] * 10], ids=["unlike", "large"])
async def test_an_account_that_rests_moves_only_its_own_conversations_and_they_return(weights: list[int]) -> None:
    house = House(weights, 1)
    before, all_of = await house.homes(), house.accounts.accounts
    house.accounts.accounts = [
        msgspec.structs.replace(account, takes_calls=account.id != 9) for account in house.accounts.accounts
    ]
    during = await house.homes()
    assert {before[number] for number in before if before[number] != during[number]} == {9}
    house.accounts.accounts = all_of
    assert await house.homes() == before


async def test_an_account_that_keeps_calls_waiting_is_no_home_until_it_answers() -> None:
    house = House(ALIKE, 1)
    before = await house.homes()
    silent = before[0]
    seat = house.pools[0].seat(await house.account_of(0, 0), model_id="m", by=1, tokens=1)
    house.time.now += 4
    assert (await house.homes()) == before, "that is not long yet"
    house.time.now += 4
    during = await house.homes()
    assert silent not in during.values()
    assert {before[number] for number in before if before[number] != during[number]} == {silent}
    seat.succeed(8.0)
    assert await house.homes() == before


async def test_a_call_that_was_tried_or_has_no_conversation_is_drawn() -> None:
    house = House(ALIKE, 1)
    drawn = {account.id for _ in range(200) if (account := await house.pools[0].choose("m", by=1)) is not None}
    assert drawn == set(house.places)


async def test_where_only_one_account_has_room_it_takes_all() -> None:
    house = House(ALIKE, 1)
    house.accounts.accounts = [
        an_account(number, place=PoolPlace(concurrency=None if number == 1 else 1)) for number in range(1, 11)
    ]
    for number in range(200):
        house.pools[0].seat(await house.account_of(0, number), model_id="m", by=1, tokens=1)
    assert (await house.account_of(0, 0)).id == 1
