"""Holds and settlements as the rows that the ledger's functions take."""

from collections.abc import Iterable, Sequence

import msgspec

from tollkeeper.ports import Extension, HoldOrder, Settlement

encode = msgspec.json.Encoder().encode


def columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    """Rows to columns: the functions take one array for each."""
    return [list(column) for column in zip(*rows, strict=True)]


def as_array(column: Iterable[object]) -> str:
    """Numbers, ids or plain words as PostgreSQL writes an array of them."""
    return "{" + ",".join(map(str, column)) + "}"


def hold_row(row: HoldOrder | Extension) -> tuple[object, ...]:
    if isinstance(row, Extension):
        return (row.request_id, row.sequence, row.account_id, row.key_id, row.amount, 0, 0, 0, row.seconds)
    rate = row.rate
    return (
        row.request_id,
        0,
        row.account_id,
        row.key_id,
        row.amount,
        rate.price.id,
        rate.group,
        row.input_units,
        row.seconds,
    )


def claim_row(row: HoldOrder | Extension) -> tuple[bytes | None, bytes | None, bool]:
    claim = row.claim if isinstance(row, HoldOrder) else None
    return (None, None, False) if claim is None else (claim.digest, claim.body, claim.is_taken)


def settle_row(row: Settlement) -> tuple[object, ...]:
    usage = row.charge.usage
    return (
        row.request_id,
        row.account_id,
        row.charge.amount,
        usage.input_units,
        usage.cached_units,
        usage.output_units,
        row.charge.source,
        row.ending,
        _json(row.attempts),
        None if usage.parts is None else _json(usage.parts),
    )


def _json(detail: object) -> str:
    """PostgreSQL keeps no NUL in JSON, and a receipt's detail must never sink its charge."""
    return encode(detail).decode().replace("\\u0000", "")
