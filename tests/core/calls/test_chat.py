import json
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollkeeper.core.calls.chat import (
    ANSWER_TOKENS,
    CHOICES_MOST,
    TOKENS_MOST,
    ChatOrder,
    read_chat,
)
from tollkeeper.core.calls.chat_message import MESSAGE_TOKENS, ONE_TOKEN_ROLES
from tollkeeper.core.calls.tokens import count
from tollkeeper.core.errors import BadRequest, InvalidParameter, MalformedBody, MissingParameter

HELLO = {"role": "user", "content": "hello"}
FRAMING = ANSWER_TOKENS + MESSAGE_TOKENS
MEGABYTE = "QUJD" * (1024 * 1024 // 4)
PART_TOKENS = 777

# What is read of a body; everything else may be anything.
READ = ("model", "messages", "n", "max_tokens", "max_completion_tokens", "stream", "stream_options")
LOOKED_INTO = (*READ, "tools")


def a_body(**fields: object) -> bytes:
    return json.dumps({"model": "m", "messages": [HELLO], **fields}).encode()


def a_body_without(name: str) -> bytes:
    return json.dumps(
        {field: value for field, value in {"model": "m", "messages": [HELLO]}.items() if field != name}
    ).encode()


def a_body_with_message(message: object) -> bytes:
    return a_body(messages=[message])


def a_body_that_ends_in(more: bytes) -> bytes:
    """With fields written as they stand, where `json.dumps` would not write them so."""
    return b'{"model":"m","messages":[{"role":"user","content":"hello"}]' + more + b"}"


def read_or_refused(body: bytes) -> ChatOrder | None:
    """Anything but an order and a refusal with 400 fails the test."""
    try:
        return read_chat(body)
    except BadRequest:
        return None


@pytest.mark.parametrize(
    ("body", "refusal", "param"),
    [
        pytest.param(a_body_without("model"), MissingParameter, "model", id="no model"),
        pytest.param(a_body(model=None), MissingParameter, "model", id="model null"),
        pytest.param(a_body(model=""), InvalidParameter, "model", id="model empty"),
        pytest.param(a_body(model=["m"]), InvalidParameter, "model", id="model in an array"),
        pytest.param(a_body(model=4), InvalidParameter, "model", id="model a number"),
        pytest.param(a_body_without("messages"), MissingParameter, "messages", id="no messages"),
        pytest.param(a_body(messages=None), MissingParameter, "messages", id="messages null"),
        pytest.param(a_body(messages=[]), InvalidParameter, "messages", id="messages empty"),
        pytest.param(a_body(messages="hello"), InvalidParameter, "messages", id="messages a text"),
        pytest.param(a_body(messages={"0": HELLO}), InvalidParameter, "messages", id="messages an object"),
        pytest.param(a_body(messages=[HELLO, "hello"]), InvalidParameter, "messages[1]", id="message a text"),
        pytest.param(a_body(messages=[HELLO, None]), InvalidParameter, "messages[1]", id="message null"),
        pytest.param(a_body_with_message({"content": "x"}), InvalidParameter, "messages[0]", id="no role"),
        pytest.param(a_body_with_message({"role": 1}), InvalidParameter, "messages[0].role", id="role a number"),
        pytest.param(
            a_body(messages=[HELLO, {"role": "user", "content": 5}]),
            InvalidParameter,
            "messages[1].content",
            id="content a number",
        ),
        pytest.param(
            a_body_with_message({"role": "user", "content": {"type": "text", "text": "x"}}),
            InvalidParameter,
            "messages[0].content",
            id="content one part without its array",
        ),
        pytest.param(
            a_body_with_message({"role": "user", "content": ["x"]}),
            InvalidParameter,
            "messages[0].content[0]",
            id="content part a text",
        ),
        pytest.param(a_body(stream="yes"), InvalidParameter, "stream", id="stream a text"),
        pytest.param(a_body(stream=1), InvalidParameter, "stream", id="stream a number"),
        pytest.param(a_body(stream_options="x"), InvalidParameter, "stream_options", id="stream_options a text"),
        pytest.param(a_body(stream_options=[1]), InvalidParameter, "stream_options", id="stream_options an array"),
        pytest.param(a_body(stream_options=True), InvalidParameter, "stream_options", id="stream_options true"),
        pytest.param(
            a_body(stream_options={"include_usage": "yes"}),
            InvalidParameter,
            "stream_options.include_usage",
            id="include_usage a text",
        ),
    ],
)
def test_what_is_priced_and_has_a_wrong_form_is_refused_by_name(
    body: bytes, refusal: type[BadRequest], param: str
) -> None:
    with pytest.raises(refusal) as caught:
        read_chat(body)
    assert caught.value.param == param
    assert caught.value.code == {MissingParameter: "missing_parameter", InvalidParameter: "invalid_parameter"}[refusal]
    assert param in caught.value.message


@pytest.mark.parametrize("options", [[], "", 0, False], ids=["array", "text", "number", "false"])
def test_empty_stream_options_that_are_no_object_are_refused_too(options: object) -> None:
    with pytest.raises(InvalidParameter):
        read_chat(a_body(stream_options=options))


@pytest.mark.parametrize("name", ["n", "max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(b"0", id="zero"),
        pytest.param(b"-0", id="minus zero"),
        pytest.param(b"-1", id="below zero"),
        pytest.param(b"1.5", id="fraction"),
        pytest.param(b"1.0", id="written as a fraction"),
        pytest.param(b"1e0", id="with an exponent"),
        pytest.param(b"true", id="true"),
        pytest.param(b"false", id="false"),
        pytest.param(b'"5"', id="in quotes"),
        pytest.param(b"[1]", id="in an array"),
        pytest.param(b"1000000001", id="a billion and one"),
        pytest.param(b"9223372036854775808", id="2^63"),
        pytest.param(b"18446744073709551617", id="2^64 + 1"),
        pytest.param(b"-9223372036854775809", id="-2^63 - 1"),
        pytest.param(b"9" * 400, id="400 digits"),
    ],
)
def test_what_is_no_count_is_refused_by_name(name: str, number: bytes) -> None:
    with pytest.raises(InvalidParameter) as caught:
        read_chat(a_body_that_ends_in(b',"%s":%s' % (name.encode(), number)))
    assert caught.value.param == name


@pytest.mark.parametrize("n", [CHOICES_MOST + 1, 10**9])
def test_more_choices_than_anyone_needs_are_refused(n: int) -> None:
    with pytest.raises(InvalidParameter) as caught:
        read_chat(a_body(n=n))
    assert caught.value.param == "n"


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        pytest.param({}, None, id="no limit"),
        pytest.param({"max_tokens": None, "max_completion_tokens": None}, None, id="null is no limit"),
        pytest.param({"max_tokens": 1}, 1, id="the older name"),
        pytest.param({"max_completion_tokens": TOKENS_MOST}, TOKENS_MOST, id="the newer name"),
        pytest.param({"max_tokens": 5, "max_completion_tokens": 7}, 7, id="both: whichever counts, it is covered"),
        pytest.param({"max_tokens": 7, "max_completion_tokens": 5}, 7, id="both, the other way round"),
        pytest.param({"max_tokens": 7, "max_completion_tokens": None}, 7, id="one of them null"),
    ],
)
def test_the_larger_limit_of_output_is_the_one_to_hold_for(fields: dict[str, object], limit: int | None) -> None:
    assert read_chat(a_body(**fields)).max_output_tokens == limit


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        pytest.param({}, (1, False, False), id="nothing said"),
        pytest.param({"n": None, "stream": None, "stream_options": None}, (1, False, False), id="null"),
        pytest.param({"n": CHOICES_MOST, "stream": True}, (CHOICES_MOST, True, False), id="choices and stream"),
        pytest.param({"stream": True, "stream_options": {}}, (1, True, False), id="options without usage"),
        pytest.param(
            {"stream": True, "stream_options": {"include_usage": True}}, (1, True, True), id="options with usage"
        ),
        pytest.param(
            {"stream": True, "stream_options": {"include_usage": False, "include_obfuscation": True}},
            (1, True, False),
            id="usage declined",
        ),
    ],
)
def test_choices_and_streaming_are_read(fields: dict[str, object], read: tuple[int, bool, bool]) -> None:
    order = read_chat(a_body(**fields))
    assert (order.n, order.stream, order.wants_usage) == read


# JSON of two minds: some readers take it, and not all in the same way.

HOSTILE = {
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "-Infinity": b"-Infinity",
    "1e999": b"1e999",
    "-1e999": b"-1e999",
    "a number of 400 digits and a point": b"9" * 400 + b".0",
    "leading zero": b"01",
    "high surrogate alone": rb'"\ud800"',
    "low surrogate alone": rb'"\udc00"',
    "surrogates in the wrong order": rb'"\udc00\ud800"',
    "a letter after a high surrogate": rb'"\ud800\u0041"',
    "not UTF-8": b'"\xff"',
    "UTF-8 cut off": b'"\xe2\x82"',
    "overlong UTF-8": b'"\xc0\x80"',
    "surrogate in UTF-8": b'"\xed\xa0\x80"',
    "bare NUL": b'"\x00"',
    "bare newline": b'"\n"',
    "single quotes": b"'x'",
    "comment": b"/* */ 1",
    "trailing comma": b"[1,]",
    "10^5 arrays": b"[" * 10**5 + b"]" * 10**5,
    "10^5 arrays without end": b"[" * 10**5,
    "10^5 objects": b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
    "10^5 objects without end": b'{"a":' * 10**5,
}
PLACES = {
    "the model": b'{"messages":[{"role":"user","content":"hello"}],"model":%s}',
    "the messages": b'{"model":"m","messages":%s}',
    "a message": b'{"model":"m","messages":[%s]}',
    "a content": b'{"model":"m","messages":[{"role":"user","content":%s}]}',
    "a tool call": b'{"model":"m","messages":[{"role":"assistant","tool_calls":[%s]}]}',
    "the tools": a_body_that_ends_in(b',"tools":[%s]'),
    "a field unknown to us": a_body_that_ends_in(b',"x":%s'),
    "deep in a field unknown to us": a_body_that_ends_in(b',"x":[{"y":[0,%s]}]'),
    "the first field": b'{"x":%s,"model":"m","messages":[{"role":"user","content":"hello"}]}',
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_json_that_two_readers_could_read_differently_is_refused_wherever_it_stands(place: bytes, value: bytes) -> None:
    with pytest.raises(MalformedBody):
        read_chat(place % value)


@pytest.mark.not_quick
def test_nesting_near_the_limit_of_the_reader_is_an_order_or_a_refusal() -> None:
    """Where the reader just manages a depth, what counts and writes it again must manage it as well."""
    verdicts = set()
    for depth in range(500, sys.getrecursionlimit() + 20):
        nested = b"[" * depth + b"]" * depth
        for place in PLACES.values():
            order = read_or_refused(place % nested)
            verdicts.add(order is not None and order.input_tokens(part_tokens=1) > 0 and order.body_with(n=1) != b"")
    assert verdicts == {True, False}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \n", id="blank"),
        pytest.param(b"[" + a_body() + b"]", id="array"),
        pytest.param(b"null", id="null"),
        pytest.param(b'"model"', id="text"),
        pytest.param(b"1", id="number"),
        pytest.param(a_body()[:-1], id="without its end"),
        pytest.param(a_body() + b"x", id="garbage behind"),
        pytest.param(a_body() + b"}", id="one bracket too many"),
        pytest.param(a_body() * 2, id="twice"),
        pytest.param(a_body() + b"\x00", id="NUL behind"),
        pytest.param(a_body() + b"\x0c", id="form feed behind"),
        pytest.param(b"\xef\xbb\xbf" + a_body(), id="byte order mark"),
        pytest.param(a_body().decode().encode("utf-16"), id="UTF-16"),
        pytest.param(b"model=m&messages=hello", id="form"),
        pytest.param(a_body_that_ends_in(b',"\xff":1'), id="name not UTF-8"),
        pytest.param(a_body_that_ends_in(rb',"\ud800":1'), id="name half a surrogate pair"),
        pytest.param(a_body_that_ends_in(b",x:1"), id="name without quotes"),
    ],
)
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody) as caught:
        read_chat(body)
    assert (caught.value.status, caught.value.code) == (400, "malformed_body")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(a_body_that_ends_in(b',"model":"dear"'), id="two models"),
        pytest.param(a_body_that_ends_in(b',"model":"m"'), id="the same model twice"),
        pytest.param(a_body_that_ends_in(rb',"mod\u0065l":"dear"'), id="escaped"),
        pytest.param(a_body_that_ends_in(rb',"mod\u0065l":"m"'), id="escaped, equal"),
        pytest.param(a_body_that_ends_in(rb',"\u006d\u006f\u0064\u0065\u006c":"m"'), id="all escaped"),
        pytest.param(a_body_that_ends_in(b',"n":1,"n":100'), id="the second longer"),
        pytest.param(a_body_that_ends_in(b',"n":100,"n":1'), id="the first begins like the second"),
        pytest.param(a_body_that_ends_in(b',"n":1,"n":1,"n":1'), id="three times"),
        pytest.param(a_body_that_ends_in(b',"x":1,"y":2,"x":1'), id="unknown to us, apart"),
        pytest.param(a_body_that_ends_in(b',"x":1 , "x" : 1'), id="with spaces"),
        pytest.param(
            a_body_that_ends_in(b',"x":1,"y":{"k":1,"zzzzzzz":1},"x":123456789012'), id="of lengths made to deceive"
        ),
        pytest.param(a_body_that_ends_in(b',\n  "x" : {\n  } ,\r\n\t"x" : {\n  }\n'), id="pretty-printed"),
        pytest.param(a_body_that_ends_in(b',"":1,"":1'), id="the empty name"),
        pytest.param(a_body_that_ends_in(rb',"\"":1,"\"":1'), id="a quote for a name"),
        pytest.param(a_body_that_ends_in(rb',"\\":1,"\u005c":1'), id="a backslash for a name"),
        pytest.param(a_body_that_ends_in(',"é":1,"é":1'.encode()), id="not ASCII"),
        pytest.param(a_body_that_ends_in(',"é":1,"\\u00e9":1'.encode()), id="not ASCII, escaped"),
        pytest.param(b'{"model":"m",' + a_body()[1:], id="at the beginning"),
        pytest.param(b' {\n"model" : "m",\n' + a_body()[1:] + b"\n", id="at the beginning, with spaces"),
        pytest.param(a_body_that_ends_in(b',"messages":[]'), id="messages emptied by the second"),
        pytest.param(a_body_that_ends_in(b',"metadata":{"a":1,"a":1}'), id="inside of a parameter"),
        pytest.param(a_body_that_ends_in(rb',"metadata":{"a":"\u0022","a":1}'), id="beside a quote by its number"),
        pytest.param(a_body_that_ends_in(b',"x":[%b{"a":1,"a":1}]' % (b'"xxx",' * 60_000)), id="in a large body"),
    ],
)
def test_a_name_that_stands_twice_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody, match="stands twice"):
        read_chat(body)


def test_names_that_only_look_alike_stand_beside_each_other() -> None:
    more = rb',"quotes":"\u0022\\u0022\\\u0022\"\\\"\\u0022"'
    more += rb',"models":"x","model ":"x","x":{"model":"y"},"":"","\"model":"\"model\":\"m\",{","\\":"}"'
    assert read_chat(a_body_that_ends_in(more)).model == "m"


@pytest.mark.parametrize("name", ["Model", "MODEL", "N", "Max_Tokens", "Stream"])
def test_a_priced_name_in_another_case_is_refused(name: str) -> None:
    with pytest.raises(MalformedBody):
        read_chat(a_body(**{name: None}))


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","messages":[' + b'{"role":"a"},' * 150_000 + b'{"role":"a"}]}',
        b'{"model":"m","messages":[{"role":"a","content":[' + b'{"type":"x"},' * 150_000 + b'{"type":"x"}]}]}',
        b"{" + b",".join(b'"%d":1' % name for name in range(1_000)) + b"}",
    ],
    ids=["messages", "parts", "names"],
)
def test_more_of_anything_than_anybody_needs_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read_chat(body)


def test_an_escaped_nul_inside_content_passes() -> None:
    order = read_chat(rb'{"model":"m","messages":[{"role":"user","content":"a\u0000b"}]}')
    assert order.texts == ("a\0b",)
    assert rb"a\u0000b" in order.body_with(n=1)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["m", "user", 10**30, 2**63, -1, 0, 1.5, "\0", "é\u2028🎉"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "tool"]) | json_values},
    optional={
        "content": st.text() | st.lists(st.dictionaries(st.sampled_from(["type", "text", "refusal"]), json_values)),
        "name": json_values,
        "tool_calls": json_values,
        "function_call": json_values,
    },
)
almost_bodies = st.fixed_dictionaries(
    {"model": st.just("m") | json_values, "messages": st.lists(messages, max_size=3) | json_values},
    optional=dict.fromkeys((*READ[2:], "tools", "functions", "response_format", "x"), json_values),
)
layouts = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 4, "\t", " \r\n"]),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), ("\n,\t", "\r\n:")]),
        "ensure_ascii": st.booleans(),
    }
)
valid_fields = st.fixed_dictionaries(
    {"model": st.text(min_size=1, max_size=20), "messages": st.just([HELLO])},
    optional={
        "n": st.integers(1, CHOICES_MOST),
        "max_tokens": st.integers(1, TOKENS_MOST),
        "stream": st.booleans(),
        "stream_options": st.fixed_dictionaries({"include_usage": st.booleans()}),
        "tools": st.lists(st.builds(lambda name: {"type": "function", "function": {"name": name}}, json_values)),
        "temperature": json_values,
    },
)
unknown_fields = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name.casefold() not in LOOKED_INTO), json_values, max_size=4
)


@st.composite
def damaged_bodies(draw: st.DrawFn) -> bytes:
    """A good body in which a few bytes were lost, changed, added or repeated."""
    fields = {**draw(valid_fields), **draw(unknown_fields)}
    body = bytearray(json.dumps(fields, ensure_ascii=draw(st.booleans())).encode())
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(body)))
        end = min(len(body), begin + draw(st.integers(0, 8)))
        put = draw(
            st.binary(max_size=3) | st.sampled_from([b",", b'"', b"\\", b"1e999", b"\\ud800", bytes(body[begin:])])
        )
        body[begin:end] = put
    return bytes(body)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | damaged_bodies() | st.builds(json.dumps, json_values | almost_bodies).map(str.encode))
def test_any_body_is_an_order_that_all_readers_read_alike_or_refused(body: bytes) -> None:
    order = read_or_refused(body)
    if order is None:
        return
    pairs = json.loads(body, object_pairs_hook=list, parse_constant=pytest.fail)
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    asked = dict(pairs)
    assert order.model == asked["model"]
    assert order.n == (asked.get("n") or 1)
    assert 1 <= order.n <= CHOICES_MOST
    limits = [asked[name] for name in ("max_tokens", "max_completion_tokens") if asked.get(name) is not None]
    assert order.max_output_tokens == max(limits, default=None)
    assert order.max_output_tokens is None or 1 <= order.max_output_tokens <= TOKENS_MOST
    assert order.stream is (asked.get("stream") or False)
    assert order.input_tokens(part_tokens=1) > 0
    assert json.loads(order.body_with()) == json.loads(body)


@settings(max_examples=200, deadline=None)
@given(known=valid_fields, unknown=unknown_fields, layout=layouts, data=st.data())
def test_a_good_body_is_accepted_however_it_is_written_and_goes_on_unchanged(
    known: dict[str, object], unknown: dict[str, object], layout: dict[str, object], data: st.DataObject
) -> None:
    asked = dict(data.draw(st.permutations([*known.items(), *unknown.items()])))
    space = data.draw(st.sampled_from(["", "\n", " \r\n\t"]))
    order = read_chat(f"{space}{json.dumps(asked, **layout)}{space}".encode())  # type: ignore[arg-type]
    assert order.model == known["model"]
    sent = json.loads(order.body_with(model="other", extra=[1]))
    assert sent == {**asked, "model": "other", "extra": [1]}
    assert list(sent)[: len(asked)] == list(asked)


# What is counted.


@pytest.mark.parametrize(
    ("message", "texts", "media_parts"),
    [
        pytest.param({"role": "user", "content": "hello"}, ["user", "hello"], 0, id="a text"),
        pytest.param({"role": "user", "content": ""}, ["user", ""], 0, id="an empty text"),
        pytest.param({"role": "user", "content": []}, ["user"], 0, id="no parts"),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            ["user", "one", "two"],
            0,
            id="text parts",
        ),
        pytest.param(
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "I would rather not."}]},
            ["assistant", "I would rather not."],
            0,
            id="a refusal",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://pictures.example/1"}}]},
            ["user"],
            1,
            id="an image by address",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
            ["user"],
            1,
            id="a sound",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,AA=="}}]},
            ["user"],
            1,
            id="a file",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [{"type": "text", "text": "both"}, {"type": "image_url"}, {"type": "image_url"}],
            },
            ["user", "both"],
            2,
            id="a text and two images",
        ),
        pytest.param({"role": "system", "content": "be kind"}, ["system", "be kind"], 0, id="system"),
        pytest.param({"role": "developer", "content": "be kind"}, ["developer", "be kind"], 0, id="developer"),
        pytest.param({"role": "assistant", "content": "yes"}, ["assistant", "yes"], 0, id="assistant"),
        pytest.param({"role": "tool", "content": "4", "tool_call_id": "c"}, ["tool", "4"], 0, id="tool"),
        pytest.param({"role": "to be invented", "content": "x"}, ["to be invented", "x"], 0, id="a role of the future"),
        pytest.param(
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            ["assistant", '[{"function": {"name": "f", "arguments": "{}"}}]'],
            0,
            id="no content but a tool call",
        ),
        pytest.param(
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            ["assistant", '{"name": "f", "arguments": "{}"}'],
            0,
            id="no content but a function call",
        ),
        pytest.param(
            {"role": "assistant", "content": "x", "tool_calls": None, "function_call": None},
            ["assistant", "x"],
            0,
            id="calls null",
        ),
    ],
)
def test_all_text_of_a_message_is_counted_and_each_medium_by_the_catalogs_figure(
    message: dict[str, object], texts: list[str], media_parts: int
) -> None:
    order = read_chat(a_body_with_message(message))
    # Roles of the protocol are one token each, and counted as such.
    own_texts = [text for text in texts if text not in ONE_TOKEN_ROLES]
    assert list(order.texts) == own_texts
    assert order.media_parts == media_parts
    assert order.characters == sum(map(len, own_texts))
    assert order.input_tokens(part_tokens=PART_TOKENS) == FRAMING + PART_TOKENS * media_parts + sum(map(count, texts))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + MEGABYTE, "detail": "high"}},
        {"type": "input_audio", "input_audio": {"data": MEGABYTE, "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64," + MEGABYTE}},
    ],
    ids=["image", "sound", "file"],
)
def test_base64_is_never_counted_as_text(part: dict[str, object]) -> None:
    order = read_chat(a_body_with_message({"role": "user", "content": [{"type": "text", "text": "look"}, part]}))
    assert order.input_tokens(part_tokens=PART_TOKENS) == FRAMING + count("user") + count("look") + PART_TOKENS
    assert order.characters == len("look")


@pytest.mark.parametrize("disguise", ["text", "refusal"])
def test_an_image_is_held_for_even_where_it_also_bears_a_text(disguise: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://pictures.example/1"}, disguise: ""}
    assert read_chat(a_body_with_message({"role": "user", "content": [image]})).media_parts == 1


def test_a_refusal_is_counted_even_where_it_also_bears_a_text() -> None:
    part = {"type": "refusal", "refusal": "I would rather not.", "text": ""}
    order = read_chat(a_body_with_message({"role": "assistant", "content": [part]}))
    assert "I would rather not." in order.texts


def test_every_message_every_name_and_the_answer_are_framed() -> None:
    named = {**HELLO, "name": "ann"}
    order = read_chat(a_body(messages=[HELLO, named, HELLO]))
    assert order.framing_tokens == ANSWER_TOKENS + 3 * (MESSAGE_TOKENS + count("user")) + 1
    assert order.input_tokens(part_tokens=0) == order.framing_tokens + sum(map(count, ["hello"] * 3 + ["ann"]))


@pytest.mark.parametrize("role", sorted(ONE_TOKEN_ROLES))
def test_roles_of_the_protocol_are_one_token_each(role: str) -> None:
    assert count(role) == 1


def test_a_role_of_somebodys_own_is_counted_as_text() -> None:
    role = "a role that nobody has heard of"
    plain, strange = read_chat(a_body(messages=[HELLO])), read_chat(a_body(messages=[{**HELLO, "role": role}]))
    more = strange.input_tokens(part_tokens=0) - plain.input_tokens(part_tokens=0)
    assert more == count(role) - count("user") > 3


@pytest.mark.parametrize("name", ["tools", "functions", "response_format"])
def test_descriptions_of_tools_and_of_the_answers_form_are_counted_as_they_came(name: str) -> None:
    written = b'[ {"type": "function", "function": {"name": "weather", "description": "\\u00e9 of a town"}} ]'
    plain, described = read_chat(a_body()), read_chat(a_body_that_ends_in(b',"%s": %s ' % (name.encode(), written)))
    assert described.texts == (*plain.texts, written.decode())
    more = described.input_tokens(part_tokens=0) - plain.input_tokens(part_tokens=0)
    assert more == count(written.decode()) > 10


# What goes on.


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        pytest.param(
            {},
            rb'{"temperature":1.50,"model":"m","messages":[ {"role":"user",  "content":"\u00e9\/"} ],"seed":1E2}',
            id="nothing",
        ),
        pytest.param(
            {"model": "other"},
            rb'{"temperature":1.50,"model":"other","messages":[ {"role":"user",  "content":"\u00e9\/"} ],"seed":1E2}',
            id="the model",
        ),
        pytest.param(
            {"stream_options": {"include_usage": True}},
            rb'{"temperature":1.50,"model":"m","messages":[ {"role":"user",  "content":"\u00e9\/"} ],"seed":1E2,'
            rb'"stream_options":{"include_usage":true}}',
            id="a field that was not there",
        ),
    ],
)
def test_only_what_is_named_changes_and_every_other_value_keeps_its_bytes(
    changes: dict[str, object], sent: bytes
) -> None:
    body = (
        rb' { "temperature" : 1.50 , "model":"m", "messages": [ {"role":"user",  "content":"\u00e9\/"} ],'
        b'\n "seed":1E2 }\n'
    )
    order = read_chat(body)
    assert order.body_with(**changes) == sent
    assert order.body == body


@pytest.mark.parametrize("name", ["api_base", "base_url", "api_key", "extra_headers", "extra_body", "organization"])
def test_words_that_would_lead_a_client_elsewhere_are_fields_like_any_other(name: str) -> None:
    plain, led = read_chat(a_body()), read_chat(a_body(**{name: "https://canary.example"}))
    kept = set(ChatOrder.__struct_fields__) - {"fields", "body", "conversation"}
    assert all(getattr(led, field) == getattr(plain, field) for field in kept)
    assert led.conversation() == plain.conversation()
    assert json.loads(led.body_with())[name] == "https://canary.example"


def test_a_file_that_lies_at_the_provider_is_nobodys_who_calls() -> None:
    part = {"type": "file", "file": {"file_id": "file-of-the-operator"}}
    with pytest.raises(InvalidParameter, match="files are sent in the message itself, as file_data") as refusal:
        read_chat(a_body(messages=[{"role": "user", "content": [part]}]))
    assert str(refusal.value.param).endswith("file.file_id")
    sent = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}}
    assert read_chat(a_body(messages=[{"role": "user", "content": [sent]}])).media_parts == 1


def test_an_order_that_forgot_its_content_holds_nothing_of_it() -> None:
    canary = "the-canary-sang"
    parts = [
        {"type": "text", "text": canary},
        {"type": "image_url", "image_url": {"url": f"https://pictures.example/{canary}"}},
    ]
    tools = [{"type": "function", "function": {"name": canary}}]
    body = a_body(messages=[{"role": "user", "name": canary, "content": parts}], tools=tools, user=canary)
    holders = sys.getrefcount(body)
    order = read_chat(body)
    tokens_before = order.input_tokens(part_tokens=PART_TOKENS)
    order.forget_content()
    holders_after = sys.getrefcount(body)
    assert canary not in str(msgspec.structs.asdict(order))
    assert (order.texts, order.fields, order.body, order.characters) == ((), {}, b"", 0)
    assert holders_after == holders
    assert order.input_tokens(part_tokens=PART_TOKENS) < tokens_before
    assert (order.model, order.n, order.media_parts) == ("m", 1, 1)
