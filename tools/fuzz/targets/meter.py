"""The meter of chat answers: it raises nothing but NotAnAnswer, and counts no more than what stands there."""

from tollkeeper.core.calls.chat import CHOICES_MOST
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.whole_meter import WholeMeter
from tools.fuzz.target import Grown, Target

# Of one event. The tokenizer takes up to 1.4 µs for a character, so more would take longer than it should.
SIZE_BYTES_MOST = 32 * 1024


def check(data: bytes) -> None:
    _check_stream(data)
    _check_forms(data)
    meter = WholeMeter()
    try:
        meter.read(data)
    except NotAnAnswer:
        assert meter.output_tokens == 0
        assert meter.reported is None
        return
    assert 0 <= meter.output_tokens <= len(data)
    assert Meter().read_event(data) is not Event.MALFORMED


def _check_stream(data: bytes) -> None:
    meter, heard_bytes, characters = Meter(CHOICES_MOST), 0, 0
    for event in EventSplitter().feed(data + b"\n\n"):
        told = data_of(event)
        if not told:
            continue
        reported = meter.reported
        kind = meter.read_event(told)
        heard_bytes += len(told)
        assert characters <= meter.characters <= heard_bytes
        assert 0 <= meter.output_tokens <= heard_bytes
        assert reported is None or meter.reported is not None
        if kind in {Event.MALFORMED, Event.ERROR, Event.DONE, Event.ASIDE}:
            assert meter.characters == characters
        characters = meter.characters


def _check_forms(data: bytes) -> None:
    """Chunks that are read by what they have in common say the same as if each was parsed."""
    quick, thorough = Meter(), Meter()
    thorough.chunk_form.looks_left = 0
    for event in EventSplitter().feed(data + b"\n\n"):
        told = data_of(event)
        if told:
            assert quick.read_event(told) is thorough.read_event(told)
            assert (quick.characters, quick.reported) == (thorough.characters, thorough.reported)
    assert (quick.output_tokens, quick.label) == (thorough.output_tokens, thorough.label)


def work(data: bytes) -> None:
    """One event, and its count."""
    meter = Meter()
    meter.read_event(data_of(data) or data)
    assert meter.output_tokens >= 0


def _event(choice: bytes, more: bytes = b"") -> bytes:
    return b'data: {"id":"c","object":"chat.completion.chunk","choices":[' + choice + b"]" + more + b"}\n\n"


USAGE = (
    b',"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":3}}'
)
CALL = b'{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}'

EARLY = b'data: {"choices":[],"usage_so_far":{"prompt_tokens":1,"completion_tokens":0}}\n\n'

TARGET = Target(
    check=check,
    work=work,
    seeds=(
        _event(b'{"index":0,"delta":{"content":"one"}}') * 2
        + _event(b'{"index":0,"delta":{"content":" two"}}')
        + _event(b'{"index":0,"delta":{"content":"a"}}', b',"obfuscation":"x1"')
        + _event(b'{"index":0,"delta":{"content":"b"}}', b',"obfuscation":"y22"'),
        _event(b'{"index":0,"delta":{"role":"assistant","content":"Hello, w\\u00f6rld \\ud83d\\ude00"}}')
        + _event(b'{"index":1,"delta":{"reasoning_content":"hm","tool_calls":[' + CALL + b"]}}")
        + _event(b'{"index":0,"delta":{},"finish_reason":"stop"}')
        + _event(b"", USAGE)
        + b"data: [DONE]\n\n",
        b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null,"tool_calls":['
        + CALL
        + b"]"
        b',"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"length"}]' + USAGE + b"}",
        b'data: {"error":{"message":"no"}}\n\n' + EARLY,
        b'data: {"a":\x151e9}\n\n',
        # A label that changed before it stands on a chunk without choices.
        b'data: {"choices":1.0}\n\ndata: {"object":"many words of a label","choices":[""]}\n\ndata: {"object":"o"}\n\n',
        # What is no text is counted as it is written, with what it says twice.
        (
            b'data: {"choices":[{"delta":{"role":"\xed\xa0\x80","a":123456789012345678901234567890,'
            b'"b":"\xed\xa0\x80","a":123456789012345678901234567890}}]}\n\n'
        ),
        b'data: {"a": 1e9}\n\ndata: {"flags":[true,true,false]}\n\n',
    ),
    words=(b'"choices"', b'"delta"', b'"message"', b'"usage"', b'"index"', b'"finish_reason"', b'"error"', b"null"),
    grown=(
        Grown(b"[", closing=b"]"),
        Grown(b'{"choices":', b'{"choices":', b"}", closing=b"}"),
        Grown(b"-", b'{"choices":[{"delta":{"content":"', b'"}}]}'),
        Grown(b"a", b'{"choices":[{"delta":{"content":"', b'"}}]}'),
        Grown(b" \\n", b'{"choices":[{"message":{"content":"', b'"}}]}'),
        Grown(b'{"delta":{"content":"-"}},', b'{"choices":[', b"{}]}"),
        Grown(b'{"index":"x","delta":{"content":"a"}},', b'{"choices":[', b"{}]}"),
        Grown(b"\\ud800", b'{"choices":[{"delta":{"content":"', b'"}}]}'),
        Grown(b"9", b'{"choices":[],"usage":{"prompt_tokens":', b',"completion_tokens":1}}'),
    ),
    size_bytes_most=SIZE_BYTES_MOST,
)
