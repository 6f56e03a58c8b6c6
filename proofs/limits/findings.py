"""Findings: what was checked, what came of it, and how a key's or an account's admissions are judged."""

import asyncio
from collections import Counter
from collections.abc import Callable

from proofs.limits.demand import Heard
from proofs.limits.site import Admission, Site
from proofs.limits.windows import US, fewest_in_window, most_in_window
from proofs.rig.checks import Check
from proofs.rig.patience import patience
from proofs.rig.proof import say

SPAN_US = 60 * US
# Where demand is there, a place that is free is taken within a second.
SPAN_WITH_SLACK_US = SPAN_US + US
WRITTEN_WITHIN_SECONDS = 10.0
LOOK_EVERY_SECONDS = 0.25


class Findings:
    def __init__(self) -> None:
        self.checks: list[Check] = []

    def check(self, name: str, holds: bool, detail: object = "", *, timed: bool = False) -> bool:
        """Note it, and say at once what does not hold."""
        self.checks.append(Check(name, holds, str(detail), timed))
        if not holds:
            say(f"NOT SO: {name}: {detail}")
        return holds

    def check_answers(self, act: str, heard: Heard) -> bool:
        """Callers heard 200 and 429 alone, each with the headers that it must have."""
        say(f"{act}: {dict(heard.statuses)}, told of these limits: {dict(heard.limits)}")
        return self.check(f"{act}: every answer is right", not heard.wrong, f"{dict(heard.wrong)} {heard.examples}")


async def written_moments_us(
    site: Site, heard: Heard, findings: Findings, belongs: Callable[[Admission], bool]
) -> list[int]:
    """When calls were admitted, once the log has as many as the callers heard."""
    found: list[Admission] = []
    for _ in range(round(patience(WRITTEN_WITHIN_SECONDS) / LOOK_EVERY_SECONDS)):
        found = [admission for admission in await asyncio.to_thread(site.admissions) if belongs(admission)]
        if len(found) >= heard.statuses[200]:
            break
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    statuses = Counter(admission.status for admission in found)
    findings.check(
        f"{site.name}: the log has every call that was let in, and no other",
        statuses == Counter({200: heard.statuses[200]}),
        f"callers heard {heard.statuses[200]} answers, the log has {dict(statuses)}",
    )
    return [admission.admitted_at for admission in found]


def most(moments_us: list[int], since: float = 0.0) -> int:
    """In any 60 seconds that begin at `since` (Unix seconds) or later."""
    return most_in_window(moments_us, SPAN_US, since_us=round(since * US))


def fewest(moments_us: list[int], heard: Heard, since: float = 0.0) -> int | None:
    """In any 61 seconds between the first call that was sent, or `since`, and the last."""
    begin = max(since, heard.first_sent_at)
    return fewest_in_window(
        moments_us, SPAN_WITH_SLACK_US, from_us=round(begin * US), until_us=round(heard.last_sent_at * US)
    )
