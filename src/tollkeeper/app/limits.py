"""Wiring of rate limits, bans and time at peak for one worker process."""

from collections.abc import Callable, Coroutine

import msgspec

from tollkeeper.app.parts import abuse_policy_of
from tollkeeper.app.secrets import mark_of
from tollkeeper.core.client_ip import read_networks
from tollkeeper.edge.guard import Guard
from tollkeeper.relay.gate import Gate
from tollkeeper.settings import Settings
from tollkeeper.storage.limits.bans import INVALID_CALLS, SqlBans, ban
from tollkeeper.storage.limits.invalid_calls import SharedInvalidCalls
from tollkeeper.storage.limits.limiter import RedisLimiter
from tollkeeper.storage.limits.peaks import SqlPeaks
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.redis.places import places_of


class LimitParts(msgspec.Struct, frozen=True, kw_only=True):
    limiter: RedisLimiter
    bans: SqlBans
    peaks: SqlPeaks
    gate: Gate
    guard: Guard
    invalid_calls: SharedInvalidCalls

    @property
    def always(self) -> tuple[Callable[[], Coroutine[None, None, None]], ...]:
        """What runs as long as the process."""
        return self.limiter.follow, self.bans.follow, self.peaks.follow, self.invalid_calls.follow


def rate_limits_of(settings: Settings, database: Database, changes: Changes) -> LimitParts:
    peaks, bans, policy = SqlPeaks(database), SqlBans(database, changes), abuse_policy_of(settings)
    limiter = RedisLimiter(
        places_of(settings.redis_url.reveal()),
        # One Redis may serve several deployments.
        prefix=f"tollkeeper:{mark_of(settings, b'limits')[:8]}:",
        share=lambda: changes.live_workers,
        at_peak=lambda passage, microseconds: peaks.note(int(passage.windows.whose), passage.ip, microseconds),
    )
    invalid_calls = SharedInvalidCalls(
        limiter,
        settings.invalid_calls,
        lambda ip, counted: ban(database, policy, ip, INVALID_CALLS, counted),
        bans.put,
    )
    return LimitParts(
        limiter=limiter,
        bans=bans,
        peaks=peaks,
        gate=Gate(
            limiter,
            changes,
            restricted_percent=settings.restricted_percent,
            unpaid_running_most=settings.unpaid_calls_at_once,
        ),
        guard=Guard(bans, invalid_calls, read_networks(settings.trusted_proxies)),
        invalid_calls=invalid_calls,
    )
