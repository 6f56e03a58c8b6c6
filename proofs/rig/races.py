"""The races (F12): two processes, each with a pool of its own, ask at once for what is given once.

Rules of this file
1. Both processes begin a round together, each with half of the callers, every one from an IP of its own.
2. Exactly one caller is told that it got something, the others what they must be told; and the database has it once.
"""

import asyncio
import multiprocessing
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

import msgspec

from proofs.rig.patience import patience
from proofs.rig.proof import say
from proofs.rig.town import ACTOR, Account, Town, town_at
from tollkeeper.core.keys import hint
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms
from tollkeeper.core.people.faucet import Networks
from tollkeeper.ports import KeyText
from tollkeeper.ports.customers.faucet import FaucetTerms, FaucetWish
from tollkeeper.ports.partner import Decided, Requested

RACERS = 2
CONNECTIONS_EACH = 20
ROUND_SECONDS_MOST = 120.0

# Cash that can be withdrawn at once: 2.5 % of 10 USD.
TERMS = ReferralTerms(pending_days=0)
CASH = MicroUsd(250_000)
# Every round is one grant; what is given in a day is no part of the race.
FAUCET = FaucetTerms(amount=Quota(UNITS_PER_USD), per_day=1_000_000)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What one round is about. Not every race needs all of it."""

    callers: Sequence[Account]
    account: Account
    giver: Account
    code: str = ""


class Lane(NamedTuple):
    """Of one racer."""

    barrier: Barrier
    place: int


Verdicts = Counter[str]
# Numbers of races, and what each round is about.
Program = list[tuple[int, Round]]
LOOK = "with round (one, giver, everybody) as (select $1::bigint, $2::bigint, $3::bigint[]) select "


class Race(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    prepare: Callable[[Town, int], Awaitable[Round]]
    # What the caller of this number does, and what it was told.
    ask: Callable[[Town, Round, int], Awaitable[str]]
    won: str
    lost: str
    # What the database has of one round: of its `one` account, its `giver`, and `everybody`. It must be `left`.
    look: str
    left: tuple[int, ...]


async def _one_code(town: Town, at_once: int) -> Round:
    callers = await town.accounts(at_once)
    [code] = await town.sold(1, "10")
    return Round(callers=callers, account=callers[0], giver=callers[0], code=code)


async def _redeem_for_oneself(town: Town, about: Round, caller: int) -> str:
    done = await town.redeem(about.callers[caller], about.code, terms=TERMS)
    return done.verdict.value


async def _guest_with_a_code(town: Town, at_once: int) -> Round:
    """The callers lend their IPs."""
    callers = await town.accounts(at_once)
    giver = callers[0]
    [code] = await town.sold(1, "10")
    return Round(callers=callers, account=await town.a_guest(giver), giver=giver, code=code)


async def _redeem_with_gift_code(town: Town, about: Round, caller: int) -> str:
    ip = about.callers[caller].ip
    done = await town.redeem(about.account, about.code, giver=about.giver, ip=ip, terms=TERMS)
    return done.verdict.value


async def verified(town: Town, at_once: int) -> Round:
    callers = await town.accounts(at_once)
    await town.verify([callers[0]])
    return Round(callers=callers, account=callers[0], giver=callers[0])


async def pour(town: Town, about: Round, caller: int) -> str:
    key = f"sk-{os.urandom(8).hex()}"
    networks = Networks(about.callers[caller].ip.removesuffix("1") + "0/24")
    text = KeyText(1, os.urandom(32), hint(key))
    wish = FaucetWish(account_id=about.account.id, networks=networks, key_name="Faucet", key_text=text)
    return (await town.faucet.grant(wish, FAUCET, actor=ACTOR)).verdict.value


async def _with_cash(town: Town, at_once: int) -> Round:
    about = await _guest_with_a_code(town, at_once)
    await town.redeem(about.account, about.code, terms=TERMS)
    return Round(callers=about.callers, account=about.giver, giver=about.giver)


async def _withdraw_and_pay(town: Town, about: Round, _: int) -> str:
    """Ask for all of it, and have support pay the request that there is: one's own, or that of whoever was faster."""
    asked = await town.withdraw(about.account, CASH)
    if asked.withdrawal_id is None:
        # Whoever comes after it was paid is told that there is nothing.
        return "again" if asked.verdict is Requested.SHORT else asked.verdict.value
    return "paid" if await town.pay(asked.withdrawal_id) is Decided.PAID else "again"


RACES = (
    Race(
        name="a redemption code",
        prepare=_one_code,
        ask=_redeem_for_oneself,
        won="redeemed",
        lost="used",
        look="""(select count(*) from top_up, round where account_id = any (everybody)),
                (select sum(granted) from lot, round where account_id = any (everybody))""",
        left=(1, 5_000_000_000_000),
    ),
    Race(
        name="the faucet",
        prepare=verified,
        ask=pour,
        won="granted",
        lost="too_soon",
        look="""(select count(*) from faucet_grant, round where account_id = any (everybody)),
                (select count(*) from api_key, round where account_id = one),
                (select sum(granted) from lot, round where account_id = one)""",
        left=(1, 1, 500_000_000_000),
    ),
    Race(
        name="a gift code",
        prepare=_guest_with_a_code,
        ask=_redeem_with_gift_code,
        won="redeemed",
        lost="replayed",
        look="""(select count(*) from top_up, round where account_id = any (everybody)),
                (select count(*) from reward, round where account_id in (one, giver)),
                (select sum(granted) from lot, round where account_id = one),
                (select sum(granted) from lot, round where account_id = giver),
                (select sum(usd_micros) from cash_entry, round where account_id = giver)""",
        left=(1, 3, 5_250_000_000_000, 250_000_000_000, 250_000),
    ),
    Race(
        name="a withdrawal",
        prepare=_with_cash,
        ask=_withdraw_and_pay,
        won="paid",
        lost="again",
        look="""(select count(*) from withdrawal, round where account_id = any (everybody)),
                (select count(*) from cash_entry, round where account_id = one and kind = 'paid'),
                (select sum(usd_micros) from cash_entry, round where account_id = one and kind = 'paid'),
                (select available from round, cash_standing(one))""",
        left=(1, 1, 250_000, 0),
    ),
)


async def run(url: str, *, rounds: int, at_once: int) -> int:
    """How many of the races were exact in every round."""
    async with town_at(url, connections=2) as town:
        program = [
            (number, await race.prepare(town, at_once)) for number, race in enumerate(RACES) for _ in range(rounds)
        ]
        say(f"racing: {len(RACES)} races of {rounds} rounds, {at_once} at once")
        told = await _race(url, program)
        wrong: Counter[int] = Counter()
        for (number, about), verdicts in zip(program, told, strict=True):
            wrong[number] += not await _was_once(town, RACES[number], about, verdicts)
    for number, race in enumerate(RACES):
        say(f"{race.name}: exactly once in {rounds - wrong[number]} of {rounds} rounds")
    return sum(not wrong[number] for number in range(len(RACES)))


async def _was_once(town: Town, race: Race, about: Round, verdicts: Verdicts) -> bool:
    everybody = [each.id for each in (about.account, about.giver, *about.callers)]
    left = tuple(await town.owner.fetchrow(LOOK + race.look, about.account.id, about.giver.id, everybody))
    once = verdicts == Counter({race.won: 1, race.lost: len(about.callers) - 1}) and left == race.left
    if not once:
        say(f"NOT ONCE: {race.name}: told {dict(verdicts)}, the database has {left}")
    return once


async def _race(url: str, program: Program) -> list[Verdicts]:
    """What the callers of each round were told."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(RACERS)
    pipes = [context.Pipe(duplex=False) for _ in range(RACERS)]
    racers = [
        context.Process(target=_racer, args=(url, program, Lane(barrier, place), sending))
        for place, (_, sending) in enumerate(pipes)
    ]
    for racer in racers:
        racer.start()
    for _, sending in pipes:
        # Held by its racer alone: one that dies is heard.
        sending.close()
    told = [await asyncio.to_thread(receiving.recv) for receiving, _ in pipes]
    for racer in racers:
        await asyncio.to_thread(racer.join)
    return [sum(parts, Verdicts()) for parts in zip(*told, strict=True)]


def _racer(url: str, program: Program, lane: Lane, sending: Connection) -> None:
    try:
        sending.send(asyncio.run(_run_lane(url, program, lane)))
    except BaseException:
        # The other racer need not wait for one that does not come.
        lane.barrier.abort()
        raise
    sending.close()


async def _run_lane(url: str, program: Program, lane: Lane) -> list[Verdicts]:
    told = []
    async with town_at(url, connections=CONNECTIONS_EACH) as town:
        for number, about in program:
            await asyncio.to_thread(lane.barrier.wait, patience(ROUND_SECONDS_MOST))
            callers = range(lane.place, len(about.callers), RACERS)
            told.append(Verdicts(await asyncio.gather(*(RACES[number].ask(town, about, caller) for caller in callers))))
    return told
