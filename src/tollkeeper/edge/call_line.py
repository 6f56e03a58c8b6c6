"""What the call log says of a call: who asked what, and what it came to. No secret, and nothing of what was said."""

from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.traceparent import read_traceparent
from tollkeeper.edge.call_log import CallLine, time_for_log
from tollkeeper.edge.http.exchange import Exchange, Reply, Sent
from tollkeeper.metrics.calls import SettledCall
from tollkeeper.relay.ended import EndedCall

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"


def line_of(exchange: Exchange, reply: Reply | Sent, path: str, seconds: float) -> CallLine:
    """`path`: of the route, or `other`: what is no route of ours may be anything, words and keys included."""
    caller, settled = exchange.caller, exchange.settled
    line = CallLine(
        time=time_for_log(exchange.unix_milliseconds),
        request_id=exchange.id_text,
        address=exchange.address,
        method=exchange.method if exchange.method in METHODS else OTHER,
        path=path,
        status=reply.status,
        milliseconds=_milliseconds(seconds),
        sent_bytes=reply.body_bytes,
        peer=exchange.peer,
        ip=None if exchange.ip == exchange.peer else exchange.ip,
        key_id=caller.key_id if caller else None,
        account_id=caller.account_id if caller else None,
        admitted_at=exchange.admitted_at_us,
        code=exchange.code,
        model=exchange.model,
    )
    if exchange.first_byte_seconds is not None:
        line.first_byte_milliseconds = _milliseconds(exchange.first_byte_seconds)
    if exchange.limits_seconds is not None:
        line.limits_milliseconds = _milliseconds(exchange.limits_seconds)
    if exchange.hold_seconds is not None:
        line.hold_milliseconds = _milliseconds(exchange.hold_seconds)
    if settled is not None:
        _add(line, settled)
    return line


def ended_call(exchange: Exchange, line: CallLine) -> EndedCall:
    """`line`: what its caller was answered. A call that was cut has come to more since."""
    first_byte_ms = line.first_byte_milliseconds
    return EndedCall(
        request_id=exchange.request_id,
        endpoint=line.path,
        address=exchange.address,
        begun=exchange.begun,
        seconds=line.milliseconds / 1_000,
        status=line.status,
        code=line.code,
        model=exchange.model,
        first_byte_seconds=None if first_byte_ms is None else first_byte_ms / 1_000,
        settled=exchange.settled,
        attempts=exchange.attempts,
        trace_parent=read_traceparent(exchange.header_lines(b"traceparent")),
    )


def _add(line: CallLine, settled: SettledCall) -> None:
    usage, attempts = settled.charge.usage, settled.attempts
    line.ending = settled.ending
    line.attempts = len(attempts)
    if attempts:
        line.provider_account = attempts[-1].provider_account
    line.input_units = usage.input_units
    line.cached_units = usage.cached_units
    line.output_units = usage.output_units
    line.charged_usd = settled.charge.amount / UNITS_PER_USD
    line.cost_usd = sum([attempt.cost for attempt in attempts]) / UNITS_PER_USD
    line.own_milliseconds = _milliseconds(settled.own_seconds)


def _milliseconds(seconds: float) -> float:
    """To the hundredth. (`round` with decimals takes three times as long, and every call has some of them.)"""
    return int(seconds * 100_000) / 100
