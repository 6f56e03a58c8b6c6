"""Affinity: two hundred conversations over ten accounts, two nodes and two workers each, and one account that dies."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set

import msgspec

from proofs.pool.attempts import tries_at
from proofs.pool.steady_callers import Placed, place
from proofs.pool.two_nodes import TwoNodes
from proofs.rig.checks import Check
from proofs.rig.proof import say

CONVERSATIONS = 200
AT_ONCE = 12
WORKERS = 2
# Enough that accounts which fail do so for two customers.
CUSTOMERS = 8
DYING = "p3"
HIT_SHARE_LEAST = 0.95
BUSIEST_MOST = 1.25
# What is left over for conversations that found an account full at that moment.
KEPT_LEAST = 0.95


class Conversing(msgspec.Struct, frozen=True):
    """Where the calls went: the conversation and the account of each, in order."""

    calls: Sequence[tuple[int, str]]

    def hit_share(self) -> float:
        """Of the calls after a conversation's first, those at an account that has had one of its calls."""
        known: dict[int, set[str]] = defaultdict(set)
        hits = later = 0
        for conversation, account in self.calls:
            seen = known[conversation]
            hits, later = hits + (account in seen), later + bool(seen)
            seen.add(account)
        return hits / later

    def busiest(self, accounts: int) -> float:
        """The calls of the account that had most, in shares. All weigh the same."""
        return max(Counter(account for _, account in self.calls).values()) * accounts / len(self.calls)

    def accounts(self) -> Mapping[int, Set[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for conversation, account in self.calls:
            found[conversation].add(account)
        return found


async def converse(site: TwoNodes, turns: int) -> Conversing:
    """So many calls of each conversation, in no order, each over a connection of its own to either node."""
    chance = random.Random(7)
    numbers = [number for _ in range(turns) for number in chance.sample(range(CONVERSATIONS), CONVERSATIONS)]
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[int, Placed]:
        async with free:
            customer = site.customers[number % len(site.customers)]
            text = f"This is conversation {number}. [[tokens=4]]"
            return number, await place(site.nodes, chance.randrange(2), customer, text, stream=False)

    placed = await asyncio.gather(*map(one, numbers))
    # Lines of the truth are written a moment after the calls they tell of.
    await asyncio.sleep(0.2)
    account_of = {found.request_id: found.account for found in tries_at(site.simulators) if found.went_well}
    by_time = sorted(placed, key=lambda item: item[1].begun_at)
    return Conversing([(number, account_of.get(call.request_id, "")) for number, call in by_time])


async def affinity(site: TwoNodes, turns: int, figures: dict[str, object]) -> list[Check]:
    say(f"{CONVERSATIONS} conversations of {turns} calls")
    before = await converse(site, turns)
    hit_share, busiest = round(before.hit_share(), 4), round(before.busiest(len(site.simulators)), 3)
    say(f"{DYING} dies")
    await asyncio.to_thread(site.simulators[DYING].stop)
    # A few calls find out that it is away.
    await converse(site, 1)
    after = await converse(site, 1)
    figures |= {"cache_hit_share": hit_share, "busiest": busiest}
    known = before.accounts()
    others = [call for call in after.calls if DYING not in known[call[0]]]
    kept = sum(account in known[number] for number, account in others) / len(others)
    unanswered = sum(not account for _, account in (*before.calls, *after.calls))
    say(f"hits {hit_share}, the busiest account {busiest} of its share; {kept:.3f} of the other conversations stayed")
    return [
        Check("conversations meet the account that has their cache", hit_share >= HIT_SHARE_LEAST, str(hit_share)),
        Check("no account gets too many of them", busiest <= BUSIEST_MOST, str(busiest)),
        Check("an account that dies moves only its own", kept >= KEPT_LEAST, f"{kept:.3f} stayed"),
        Check("every conversation was answered, also when an account died", not unanswered, f"{unanswered} not"),
    ]
