"""The header `traceparent`: what is exactly in its form is read, and nothing else."""

import pytest

from tollkeeper.core.traceparent import BYTES_MOST, TraceParent, read_traceparent

TRACE, SPAN = b"4bf92f3577b34da6a3ce929d0e0e4736", b"00f067aa0ba902b7"
READ = TraceParent(int(TRACE, 16), int(SPAN, 16), is_sampled=True)


@pytest.mark.parametrize(
    ("line", "is_sampled"),
    [
        pytest.param(b"00-%s-%s-01", True, id="sampled"),
        pytest.param(b"00-%s-%s-00", False, id="not sampled"),
        pytest.param(b"00-%s-%s-03", True, id="with a flag of a later form"),
        pytest.param(b"00-%s-%s-02", False, id="with that flag alone"),
        pytest.param(b"cc-%s-%s-01", True, id="later version"),
        pytest.param(b"cc-%s-%s-01-what the future brings", True, id="later version with more"),
    ],
)
def test_its_ids_and_its_flag_are_read(line: bytes, is_sampled: bool) -> None:
    assert read_traceparent([line % (TRACE, SPAN)]) == TraceParent(READ.trace_id, READ.span_id, is_sampled)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"00",
        b"00-%s-%s" % (TRACE, SPAN),
        b"00-%s-%s-1" % (TRACE, SPAN),
        b"00-%s-%s-01-more" % (TRACE, SPAN),
        b"00-%s-%s-01-" % (TRACE, SPAN),
        b"ff-%s-%s-01" % (TRACE, SPAN),
        b"00-%s-%s-01" % (TRACE.upper(), SPAN),
        b"00-%s-%s-01" % (TRACE[1:], SPAN),
        b"00-%s-%s-01" % (b"0" * 32, SPAN),
        b"00-%s-%s-01" % (TRACE, b"0" * 16),
        b" 00-%s-%s-01" % (TRACE, SPAN),
        b"00-%s-%s-01\n" % (TRACE, SPAN),
        b"00-%s-%s-zz" % (TRACE, SPAN),
        b"cc-%s-%s-01\xff" % (TRACE, SPAN),
        b"cc-%s-%s-01-%s" % (TRACE, SPAN, b"x" * BYTES_MOST),
    ],
)
def test_whatever_is_not_in_its_form_is_nothing(line: bytes) -> None:
    assert read_traceparent([line]) is None


def test_it_may_stand_only_once() -> None:
    line = b"00-%s-%s-01" % (TRACE, SPAN)
    assert read_traceparent([line]) == READ
    assert read_traceparent([line, line]) is None
    assert read_traceparent([]) is None
