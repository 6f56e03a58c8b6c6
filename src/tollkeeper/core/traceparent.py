"""The header `traceparent` (W3C Trace Context): the span of its caller's that a call is a part of.

Rules of this file
1. It comes from a stranger. Only its two ids and one flag are read, and whatever is not exactly in its form is nothing.
2. A later version of the form may have more behind the flags; the first one may not.
"""

import re
from collections.abc import Sequence

import msgspec

FIRST_VERSION, NO_VERSION = b"00", b"ff"
SAMPLED = 0x01
# No later form that is worth reading is longer.
BYTES_MOST = 256
_FORM = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[ -~]*)?")


class TraceParent(msgspec.Struct, frozen=True):
    trace_id: int
    span_id: int
    # Whether the caller keeps a record of this trace.
    is_sampled: bool


def read_traceparent(lines: Sequence[bytes]) -> TraceParent | None:
    """`lines`: every value of the header, which may stand only once."""
    if len(lines) != 1 or len(lines[0]) > BYTES_MOST:
        return None
    found = _FORM.fullmatch(lines[0])
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == NO_VERSION or (version == FIRST_VERSION and more is not None):
        return None
    parent = TraceParent(int(trace_id, 16), int(span_id, 16), bool(int(flags, 16) & SAMPLED))
    return parent if parent.trace_id and parent.span_id else None
