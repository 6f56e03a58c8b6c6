"""The pair of billing endpoints that OpenAI had once, and that many chat clients still ask for: figures of the key.

Rules of this file
1. They count as calls and cost nothing.
2. Amounts are JSON numbers here, because clients reckon with them. They are written from integers.
3. A day is a day of UTC. `end_date` is the day after the last.
"""

from datetime import UTC, date, datetime, timedelta
from urllib.parse import parse_qsl

from tollkeeper.core.errors import InvalidParameter
from tollkeeper.core.money import balance
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.usage.log import Breakdown, UsageFilter
from tollkeeper.edge import shapes
from tollkeeper.edge.endpoints import Services, caller_without_body, pass_gate
from tollkeeper.edge.http.exchange import Exchange, Reply

DAYS_MOST = 366
# Where only one end of a time is named, it is as long as clients usually ask for.
DAYS_USUAL = 100
QUERY_BYTES_MOST = 1_024
WRITTEN = "must be a day, written like 2026-12-31"
# Where a key has no end: 1 January 2100.
FOR_EVER = 4_102_444_800


async def subscription(exchange: Exchange, services: Services) -> Reply:
    caller = await caller_without_body(exchange, services)
    await pass_gate(exchange, caller, services)
    of_key = balance.of_key(await services.balances.standing(caller.key_id))
    expires_at = FOR_EVER if caller.expires_at is None else int(caller.expires_at.timestamp())
    return Reply(shapes.subscription(Quota(of_key.remaining + of_key.held + of_key.used), expires_at))


async def usage(exchange: Exchange, services: Services) -> Reply:
    caller = await caller_without_body(exchange, services)
    await pass_gate(exchange, caller, services)
    asked = _days(exchange.query, services.relay.clock.now())
    if asked is None:
        of_key = balance.of_key(await services.balances.standing(caller.key_id))
        return Reply(shapes.billed_usage(of_key.used, []))
    first, last = asked
    wanted = UsageFilter(account_id=caller.account_id, key_id=caller.key_id)
    parts = await services.usage.parts(caller.account_id, wanted, by=Breakdown.MODEL, first=first, last=last)
    return Reply(shapes.billed_usage(Quota(sum(part.sum.charged for part in parts)), parts))


def _days(query: bytes, now: datetime) -> tuple[date, date] | None:
    """The first day and the last; None where none is named. Raise InvalidParameter."""
    if len(query) > QUERY_BYTES_MOST:
        raise InvalidParameter("start_date", WRITTEN)
    named = dict(parse_qsl(query.decode("latin-1")))
    start, end = (_day(name, named.get(name)) for name in ("start_date", "end_date"))
    if start is None and end is None:
        return None
    last = now.astimezone(UTC).date() if end is None else end - timedelta(days=1)
    first = last - timedelta(days=DAYS_USUAL - 1) if start is None else start
    if not first <= last < first + timedelta(days=DAYS_MOST):
        raise InvalidParameter("end_date", f"must be later than start_date, by at most {DAYS_MOST} days")
    return first, last


def _day(name: str, text: str | None) -> date | None:
    if not text:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(name, WRITTEN) from None
    # Far enough from both ends of the calendar to reckon with.
    if not 1970 <= found.year <= 9_000:
        raise InvalidParameter(name, WRITTEN)
    return found
