"""Review the time that accounts spent at peak: restrict those that overdid it, and ban their IPs when it happens again.

Rules of this file
1. The IP is banned before its account is restricted: whoever stops in between finds both still to be done.
2. What another worker did first is not done again.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tollkeeper.core.limits.abuse import AbuseVerdict, PeakTime, Policy, judge
from tollkeeper.ports import Ban

log = logging.getLogger(__name__)


class Traffic(Protocol):
    async def accounts_at_peak(self) -> Sequence[tuple[PeakTime, datetime]]:
        """Accounts that were at peak for long enough to be looked at, each with the time by the database."""
        ...

    async def restrict(self, account_id: int, verdict: AbuseVerdict) -> bool:
        """Whether it was not restricted already."""
        ...

    async def ban(self, account_id: int, verdict: AbuseVerdict) -> Ban | None:
        """The ban in force."""
        ...

    async def forget_old_minutes(self) -> int: ...


async def review_traffic(traffic: Traffic, policy: Policy) -> int:
    """One round; how many accounts it restricted."""
    restricted = 0
    for found, now in await traffic.accounts_at_peak():
        verdict = judge(policy, found, now)
        if verdict is not None and await _act(traffic, found.account_id, verdict, policy):
            restricted += 1
    await traffic.forget_old_minutes()
    return restricted


async def _act(traffic: Traffic, account_id: int, verdict: AbuseVerdict, policy: Policy) -> bool:
    ban = await traffic.ban(account_id, verdict) if verdict.ban else None
    if not await traffic.restrict(account_id, verdict):
        return False
    log.warning(
        "account %d is restricted for %d s: at peak for %d s within %d s",
        account_id,
        policy.restricted_seconds,
        verdict.peak_seconds,
        policy.peak_within_seconds,
    )
    if ban is not None:
        log.warning("IP %s, of account %d, is banned until %s", ban.ip, account_id, f"{ban.until:%Y-%m-%d %H:%M:%S}")
    return True
