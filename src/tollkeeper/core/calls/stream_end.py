"""The last events of a chat stream, where they are ours: what it cost, and the end of one that may cost no more.

Rules of this file
1. The cost stands in `usage.cost`, in USD, as other gateways name it. It is written from integers, to the last unit.
2. Everything else in a report of usage stays as the provider wrote it.
"""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.answer_forms import Label
from tollkeeper.core.calls.json_fields import NOT_READ, decode_fields, encode
from tollkeeper.core.calls.sse import DONE, event
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.prices import Usage

COST = "cost"
USAGE = "usage"


class StreamMark(msgspec.Struct, frozen=True):
    """What an event needs in order to belong to a stream."""

    request_id: UUID
    label: Label | None
    model: str

    def chunk(self, **members: object) -> bytes:
        """A chunk with what stands on every chunk of this stream alike."""
        own = {} if self.label is None else {"id": self.label[0], "model": self.label[1]}
        kept = {name: value for name, value in own.items() if value}
        # The first 48 bits of the id are the time in milliseconds.
        created = (self.request_id.int >> 80) // 1_000
        usual = {"id": f"chatcmpl-{self.request_id}", "object": "chat.completion.chunk", "created": created}
        return event(encode({**usual, "model": self.model, **kept, **members}))


def with_cost(data: bytes, cost: Quota) -> bytes:
    """An event's data with the cost in its report of usage, if it has one."""
    try:
        fields = decode_fields(data)
        usage = decode_fields(fields[USAGE])
    except (*NOT_READ, KeyError):
        return data
    return encode({**fields, USAGE: {**usage, COST: _usd(cost)}})


def cost_in_usage(cost: Quota | None) -> dict[str, object]:
    """What a report of usage that is ours has beside its counts."""
    return {} if cost is None else {COST: _usd(cost)}


def end_as_length(mark: StreamMark, unfinished: Sequence[int], usage: Usage | None, cost: Quota) -> bytes:
    """The last events of an answer that ends before it is complete: as one that has reached its length. With `usage`
    where the caller asked for it."""
    choices = [{"index": index, "delta": {}, "finish_reason": "length"} for index in unfinished]
    events = [mark.chunk(choices=choices)] if choices else []
    if usage is not None:
        report = {
            "prompt_tokens": usage.input_units,
            "completion_tokens": usage.output_units,
            "total_tokens": usage.input_units + usage.output_units,
            COST: _usd(cost),
        }
        events.append(mark.chunk(choices=[], usage=report))
    return b"".join((*events, DONE))


def _usd(amount: Quota) -> Raw:
    return Raw(usd_exact(amount).encode())
