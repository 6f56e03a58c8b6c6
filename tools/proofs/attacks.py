"""prove-attacks: whoever tries to get answers without paying, or to harm others, pays, and harms nobody.

A search for free rides: random orders, answers of a malicious provider in every form, callers who leave at any moment;
what was charged is compared with what the provider's truth says was made. Then storms by one customer, with another
on the same node, and every row of the table of attacks.
"""

import random
import sys
from contextlib import ExitStack

import msgspec
import uvloop

from tools.node import tollkeeper
from tools.proofs import conclude, judges_timings, say, seed, size
from tools.proofs.attack_rig.bystander import Bystander
from tools.proofs.attack_rig.evidence import gather
from tools.proofs.attack_rig.ground import POISONED, Ground, model_of
from tools.proofs.attack_rig.judge import WayVerdict, Wrong, judge_calls, judge_ways, tell_wrong
from tools.proofs.attack_rig.leaks import leaks
from tools.proofs.attack_rig.rows import ROWS, Rows, run_rows
from tools.proofs.attack_rig.search import Plan, Search, Tried
from tools.proofs.attack_rig.storms import GROWTH_BYTES_MOST, Sizes, Storms
from tools.proofs.fault_rig.ground import KEYS_OF_ACCOUNT


class Size(msgspec.Struct, frozen=True, kw_only=True):
    search: Plan
    storms: Sizes
    fuzzed_bodies: int


SIZES = {
    "small": Size(
        search=Plan(ways=100, calls_each=100),
        storms=Sizes(poisons=200, large=6, failed_bodies=40),
        fuzzed_bodies=20_000,
    ),
    "full": Size(
        search=Plan(ways=1_000, calls_each=100),
        storms=Sizes(poisons=2_000, large=60, failed_bodies=1_000),
        fuzzed_bodies=1_000_000,
    ),
}
WORST_TOLD = 10
FREE_RIDE_MOST = 1.10


class Found(msgspec.Struct, kw_only=True):
    tried: list[Tried]
    ways: list[WayVerdict]
    wrong: list[Wrong]
    leaked: list[str]
    storms: Storms
    bystanders: list[Bystander]
    books_clean: bool


def main() -> int:
    chosen_size = size()
    chosen = SIZES[chosen_size]
    chance = random.Random(seed())
    with ExitStack() as stack:
        found = attack(stack, chosen, chance)
    tell(found)
    return verdict(found, run_rows(chosen.fuzzed_bodies), judges=judges_timings(chosen_size))


def attack(stack: ExitStack, chosen: Size, chance: random.Random) -> Found:
    say("starting a node, its stores and a malicious provider")
    ground = Ground(stack, chosen.search.calls + 2 * KEYS_OF_ACCOUNT, chance)
    *searching, other = ground.customers
    attackers, searchers = searching[:KEYS_OF_ACCOUNT], searching[KEYS_OF_ACCOUNT:]
    models = (model_of("openai", of_thinker=False), POISONED)
    bystanders = [Bystander(ground.node.port, other, model) for model in models]
    storms = Storms(ground, attackers, bystanders[1])

    async def act() -> list[Tried]:
        async with bystanders[0].present("while free rides are sought"):
            tried = await Search(ground, iter(searchers), chance).run(chosen.search)
        await storms.rage(chosen.storms, chance)
        return tried

    tried = uvloop.run(act())
    evidence = gather(ground, tried)
    books = tollkeeper(ground.settings, "books", "check")
    if books.returncode:
        say(books.stdout + books.stderr)
    return Found(
        tried=tried,
        ways=judge_ways(evidence),
        wrong=judge_calls(evidence),
        leaked=leaks(ground, tried),
        storms=storms,
        bystanders=bystanders,
        books_clean=books.returncode == 0,
    )


def tell(found: Found) -> None:
    for at, way in enumerate(found.ways):
        if at < WORST_TOLD or way.ratio > FREE_RIDE_MOST:
            say(f"{way.ratio:.3f} made {way.made:,} over {way.calls} calls, {way.way.name}")
        if way.ratio > FREE_RIDE_MOST:
            say(f"    worst: {way.example}")
    for line in (*tell_wrong(found.wrong), *found.leaked):
        say(line)
    for bystander in found.bystanders:
        say(f"a bystander made {bystander.calls:,} calls")
        for what, count in bystander.failed.most_common(WORST_TOLD):
            say(f"FAILED {count} times {what}")
    for problem, count in found.storms.server_errors.most_common(WORST_TOLD):
        say(f"SERVER ERROR {count} times {problem}")


def verdict(found: Found, rows: Rows, *, judges: bool) -> int:
    """Print the figures; 0 if everything held."""
    server_errors = sum(one.heard.status >= 500 for one in found.tried) + found.storms.server_errors.total()
    other_failed = sum(bystander.failed.total() for bystander in found.bystanders)
    calls = len(found.tried) + found.storms.calls + sum(bystander.calls for bystander in found.bystanders)
    worst = found.ways[0].ratio
    if rows.missing or rows.failed:
        say(f"{rows.failed} tests failed; rows that did not pass: {rows.missing}\n{rows.told}")
    conclude(
        {
            "attacks": f"{len(rows.passed)}/{ROWS}",
            "cases": calls + rows.cases,
            "server_errors": server_errors,
            "charged_wrong": len(found.wrong),
            "leaked": len(found.leaked),
            "free_ride_worst": round(worst, 3),
            "other_customer_failed": other_failed,
            "rss_growth_mb": round(found.storms.growth_bytes / 2**20, 1),
            "books": "clean" if found.books_clean else "broken",
        }
    )
    held = not (server_errors or found.leaked or other_failed or rows.failed or rows.missing) and found.books_clean
    # What was under way when a caller left, and what memory is given back, depends on how busy the machine is.
    exact = not found.wrong and worst <= FREE_RIDE_MOST and found.storms.growth_bytes <= GROWTH_BYTES_MOST
    return 0 if held and (exact or not judges) else 1


if __name__ == "__main__":
    sys.exit(main())
