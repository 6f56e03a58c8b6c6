"""prove-attacks: whoever tries to get answers without paying, or to harm others, pays, and harms nobody.

A search for free rides: random orders, answers of a malicious provider in every form, callers who leave at any moment;
what was charged is compared with what the provider's truth says was made. Then storms by one customer, with another
on the same node, and every row of the table of attacks.
"""

import random
from contextlib import ExitStack

import msgspec
import uvloop

from proofs.attacks.bystander import Bystander
from proofs.attacks.charges import WayVerdict, Wrong, judge_calls, judge_ways, tell_wrong
from proofs.attacks.leaks import leaks
from proofs.attacks.made_and_charged import gather
from proofs.attacks.rows import ROWS, Rows, run_rows
from proofs.attacks.search import Plan, Search, Tried
from proofs.attacks.storms import GROWTH_BYTES_MOST, Sizes, Storms
from proofs.attacks.target import POISONED, Target, model_of
from proofs.rig.customers import KEYS_OF_ACCOUNT
from proofs.rig.deployment import books_are_clean
from proofs.rig.proof import Run, prove, say, seed


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
# What a bystander's call may take while another customer's large bodies are read.
FELT_SECONDS_MOST = 0.25
LAST_LINE = (
    *("attacks", "cases", "server_errors", "charged_wrong", "leaked"),
    *("free_ride_worst", "other_customer_failed", "bystander_worst_ms", "rss_growth_mb", "books"),
)


class Found(msgspec.Struct, kw_only=True):
    plan: Plan
    tried: list[Tried]
    ways: list[WayVerdict]
    wrong: list[Wrong]
    leaked: list[str]
    storms: Storms
    bystanders: list[Bystander]
    books_clean: bool

    @property
    def calls(self) -> int:
        return len(self.tried) + self.storms.calls + sum(bystander.calls for bystander in self.bystanders)

    @property
    def server_errors(self) -> int:
        return sum(one.heard.status >= 500 for one in self.tried) + self.storms.server_errors.total()

    @property
    def other_failed(self) -> int:
        return sum(bystander.failed.total() for bystander in self.bystanders)

    @property
    def unsearched(self) -> int:
        """Calls that should have sought a free ride, and were not made."""
        return self.plan.searched - sum(not one.is_look for one in self.tried)

    @property
    def wrong_though_heard(self) -> int:
        """Of those that were charged wrongly, those whose callers stayed to the end."""
        return sum(one.stayed for one in self.wrong)

    @property
    def worst(self) -> float:
        return self.ways[0].ratio


def main(run: Run) -> int:
    chosen = SIZES[run.size]
    chance = random.Random(seed())
    with ExitStack() as stack:
        found = attack(stack, chosen, chance)
    tell(found)
    run.figures |= figures(found)
    rows = run_rows(chosen.fuzzed_bodies)
    if rows.missing or rows.failed:
        say(f"{rows.failed} tests failed; rows that did not pass: {rows.missing}\n{rows.told}")
    run.figures |= {"attacks": f"{len(rows.passed)}/{ROWS}", "cases": found.calls + rows.cases}
    return 0 if holds(found, rows, judges=run.judges_timings) else 1


def attack(stack: ExitStack, chosen: Size, chance: random.Random) -> Found:
    say("starting a node, its stores and a malicious provider")
    target = Target(stack, chosen.search.calls + 2 * KEYS_OF_ACCOUNT, chance)
    *searching, other = target.customers
    attackers, searchers = searching[:KEYS_OF_ACCOUNT], searching[KEYS_OF_ACCOUNT:]
    models = (model_of("openai", of_thinker=False), POISONED)
    bystanders = [Bystander(target.node.port, other, model) for model in models]
    storms = Storms(target, attackers, bystanders[1])

    async def act() -> list[Tried]:
        async with bystanders[0].present("while free rides are sought"):
            tried = await Search(target, iter(searchers), chance).run(chosen.search)
        await storms.rage(chosen.storms, chance)
        return tried

    tried = uvloop.run(act())
    evidence = gather(target, tried)
    return Found(
        plan=chosen.search,
        tried=tried,
        ways=judge_ways(evidence),
        wrong=judge_calls(evidence),
        leaked=leaks(target, tried),
        storms=storms,
        bystanders=bystanders,
        books_clean=books_are_clean(target.settings),
    )


def tell(found: Found) -> None:
    for at, way in enumerate(found.ways):
        if at < WORST_TOLD or way.ratio > FREE_RIDE_MOST:
            say(f"{way.ratio:.3f} made {way.made:,} over {way.calls} calls, {way.way.name}")
        if way.ratio > FREE_RIDE_MOST:
            say(f"    worst: {way.example}")
    if found.unsearched > 0:
        say(f"{found.unsearched} calls too few: too many forms of orders are refused")
    say(f"{found.wrong_though_heard} calls charged wrongly whose callers stayed to the end")
    for line in (*tell_wrong(found.wrong), *found.leaked):
        say(line)
    tell_others(found)


def tell_others(found: Found) -> None:
    """What everybody else felt."""
    for bystander in found.bystanders:
        say(f"a bystander made {bystander.calls:,} calls")
        for during, seconds in bystander.worst_seconds.items():
            say(f"  {seconds * 1_000:,.0f} ms the slowest {during}")
        for what, count in bystander.failed.most_common(WORST_TOLD):
            say(f"FAILED {count} times {what}")
    for problem, count in found.storms.server_errors.most_common(WORST_TOLD):
        say(f"SERVER ERROR {count} times {problem}")


def figures(found: Found) -> dict[str, object]:
    return {
        "cases": found.calls,
        "server_errors": found.server_errors,
        "charged_wrong": len(found.wrong),
        "leaked": len(found.leaked),
        "free_ride_worst": round(found.worst, 3),
        "other_customer_failed": found.other_failed,
        "bystander_worst_ms": round(found.storms.felt_seconds * 1_000),
        "rss_growth_mb": round(found.storms.growth_bytes / 2**20, 1),
        "books": "clean" if found.books_clean else "broken",
    }


def holds(found: Found, rows: Rows, *, judges: bool) -> bool:
    """Whether everything held. `judges`: also what depends on how busy the machine is."""
    failed = found.server_errors or found.leaked or found.other_failed or rows.failed or rows.missing
    failed = failed or found.unsearched > 0 or found.wrong_though_heard or not found.books_clean
    # What was under way when a caller left, what memory is given back, and how long others wait.
    exact = not found.wrong and found.worst <= FREE_RIDE_MOST and found.storms.growth_bytes <= GROWTH_BYTES_MOST
    return not failed and (not judges or (exact and found.storms.felt_seconds <= FELT_SECONDS_MOST))


if __name__ == "__main__":
    prove(main, *LAST_LINE)
