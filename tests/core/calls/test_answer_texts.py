import json

import pytest
from msgspec import Raw

from tollkeeper.core.calls.answer_texts import text_in
from tollkeeper.core.calls.left_out import LeftOut
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.tokens import count
from tollkeeper.core.calls.whole_meter import WholeMeter

SILENT = frozenset({"type", "usage"})
WORDS = "The keeper counts."


@pytest.mark.parametrize(
    ("said", "told", "characters"),
    [
        pytest.param({"type": "text", "text": WORDS}, {"content": WORDS}, 0, id="told"),
        pytest.param({"type": "hologram", "murmur": WORDS}, {}, len(WORDS), id="left out"),
        pytest.param({"text": "a", "more": {"deep": [WORDS]}}, {"content": "a"}, len(WORDS), id="a part left out"),
        pytest.param({"usage": {"note": WORDS}}, {}, 0, id="silent"),
        pytest.param({"text": 'a "quoted"\nword'}, {"content": 'a "quoted"\nword'}, 0, id="told with escapes"),
        pytest.param({"text": 12345678}, {}, 8, id="a number"),
        pytest.param({"thought": True, "text": WORDS}, {"content": WORDS}, 0, id="a vendor's mark"),
        pytest.param({"outcome": "OUTCOME_OK", "output": WORDS}, {}, len(WORDS), id="a vendor's word"),
    ],
)
def test_what_callers_are_not_told_is_known_by_its_length(said: object, told: object, characters: int) -> None:
    assert left_out(json.dumps(said).encode(), json.dumps(told).encode()).characters == characters


def left_out(said: bytes, told: bytes) -> LeftOut:
    unheard = LeftOut()
    unheard.note(said, told, SILENT)
    return unheard


def test_what_cannot_be_read_has_nothing_to_leave_out() -> None:
    assert left_out(b"{nonsense", b"").characters == 0


def test_of_huge_events_the_difference_of_their_sizes_counts() -> None:
    huge = json.dumps({"murmur": ["ab"] * 300_000}).encode()
    unheard = left_out(huge, b"x" * 100)
    assert (unheard.characters, unheard.tokens) == (len(huge) - 100, (len(huge) - 100 + 3) // 4)


@pytest.mark.parametrize("text", [WORDS * 20, "731" * 60], ids=["words", "digits"])
def test_what_callers_are_not_told_is_counted_like_any_other_text(text: str) -> None:
    unheard = LeftOut()
    for start in range(0, len(text), 3):
        unheard.note(json.dumps({"murmur": text[start : start + 3]}).encode(), b"", SILENT)
    assert unheard.tokens == count(text)


@pytest.mark.parametrize("name", ["note", "id", "index", ""])
@pytest.mark.parametrize("value", [None, True, False, 731, -7.5e9, 1e300, "", WORDS, "stop", "x" * 128, "x" * 129])
def test_a_value_alone_says_what_it_says_in_a_list(value: object, name: str) -> None:
    alone, listed = (Raw(json.dumps(each).encode()) for each in (value, [value]))
    assert text_in(alone, name) == text_in(listed, name)
    assert text_in(alone, name, besides=(WORDS,)) == text_in(listed, name, besides=(WORDS,))


# What is no output is short.

LONG = "The keeper counts what is no output, too, once there is more of it than a little. " * 4


def a_chunk(delta: object = None, beside: object = None, **fields: object) -> bytes:
    choice = {"index": 0, "delta": {"content": "x"} if delta is None else delta, "finish_reason": None}
    return json.dumps({"id": "c", "choices": [choice | (beside or {})], **fields}).encode()  # type: ignore[operator]


def counted(*events: bytes) -> int:
    meter = Meter()
    for event in events:
        assert meter.read_event(event) in {Event.PASSES, Event.USAGE}
    return meter.output_tokens


@pytest.mark.parametrize(
    "name",
    [
        *("id", "object", "model", "system_fingerprint", "service_tier", "provider"),
        *("created", "obfuscation", "prompt_filter_results", "usage_so_far"),
    ],
)
def test_what_should_be_short_counts_once_it_is_long(name: str) -> None:
    event = a_chunk(**{name: LONG if name not in {"prompt_filter_results", "usage_so_far"} else {"note": LONG * 2}})
    assert counted(event) >= count(LONG)
    assert counted(event, event) <= counted(event) + 1, "the same again says nothing new"
    whole = WholeMeter()
    whole.read(event.replace(b'"delta"', b'"message"'))
    assert whole.output_tokens >= count(LONG)


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({"content_filter_results": {"hate": {"severity": LONG * 2}}}, id="what was filtered"),
        pytest.param(
            {"content_filter_results": {str(at): {"severity": f"so {at}"} for at in range(300)}}, id="in parts"
        ),
        pytest.param({"logprobs": {"content": [{"token": LONG * 2}]}}, id="logprobs"),
        pytest.param({"logprobs": {"content": [{"bytes": list(LONG.encode())}]}}, id="bytes of logprobs"),
        pytest.param({"logprobs": {"top_logprobs": [{LONG * 2: 0}]}}, id="names in logprobs"),
        pytest.param(
            {"logprobs": {"content": [{"token": LONG * 2}]}, "murmur": None}, id="logprobs beside something new"
        ),
        pytest.param({"index": 10**400}, id="index"),
        pytest.param({"stop_reason": 10**400}, id="reason to stop"),
    ],
)
def test_more_beside_a_word_than_belongs_there_counts(beside: dict[str, object]) -> None:
    assert counted(a_chunk(beside=beside)) > 40


def test_numbers_in_the_logprobs_of_long_answers_count_by_their_bytes() -> None:
    many = {"logprobs": {"content": [{"token": "x", "logprob": -0.5}] * 20_000}}
    assert counted(a_chunk(beside=many)) > 50_000
    assert counted(a_chunk({"content": "word " * 1_000}, many)) == count("word " * 1_000)


def test_logprobs_with_twenty_others_for_each_token_are_free() -> None:
    others = [{"token": f"other{at}", "logprob": -1.25 * at, "bytes": list(b"other12")} for at in range(20)]
    tokens = [{"token": text, "logprob": -0.001, "bytes": list(text.encode()), "top_logprobs": others} for text in "a."]
    assert counted(a_chunk({"content": "a."}, {"logprobs": {"content": tokens, "refusal": None}})) == count("a.")


def test_usual_remarks_on_what_was_filtered_are_free() -> None:
    safe = {kind: {"filtered": False, "severity": "safe"} for kind in ("hate", "self_harm", "sexual", "violence")}
    found = safe | {f"protected_material_{kind}": {"filtered": False, "detected": False} for kind in ("code", "text")}
    more = {"jailbreak": {"filtered": False, "detected": False}, "profanity": {"filtered": False, "detected": False}}
    event = a_chunk(beside={"content_filter_results": found | more}, prompt_filter_results=[found | more])
    assert counted(event) == count("x")


@pytest.mark.parametrize("usage", [{"note": LONG}, LONG, {"deep": [{"er": LONG}]}], ids=["member", "text", "deep"])
def test_words_in_place_of_a_report_count_whatever_stands_beside_them(usage: object) -> None:
    assert counted(a_chunk(usage=usage)) >= count(LONG)
    alone = json.dumps({"choices": [], "usage": usage}).encode()
    assert counted(alone) == count(LONG)
    assert counted(json.dumps({"choices": [], "usage": {}, "id": "a"}).encode(), a_chunk(id="b", usage=usage)) > 60


def test_an_id_of_a_call_that_is_no_id_counts() -> None:
    call = {"id": LONG, "type": "function", "function": {"name": "n", "arguments": "{}"}}
    assert counted(a_chunk({"tool_calls": [call | {"index": 0}]})) >= count(LONG)
    whole = WholeMeter()
    whole.read(a_chunk({"tool_calls": [call]}).replace(b'"delta"', b'"message"'))
    assert whole.output_tokens >= count(LONG)


@pytest.mark.parametrize("beside", [{}, {"murmur": None}], ids=["known", "beside something new"])
def test_thoughts_under_two_names_count_once_where_they_are_the_same(beside: dict[str, object]) -> None:
    same = a_chunk({"reasoning": LONG, "reasoning_content": LONG} | beside)
    assert counted(same) == count(LONG)
    two = a_chunk({"reasoning": LONG, "reasoning_content": "Hm."} | beside)
    assert counted(two) == count("Hm." + LONG)


def test_no_text_grows_by_being_read() -> None:
    chunk = b'{"id":[{"a%b":1}],"choices":[{"index":0,"delta":{"content":"hm"}}]}' % (b"\x00" * 200)
    meter = Meter()
    assert meter.read_event(chunk) is Event.PASSES
    assert 200 < meter.characters <= len(chunk)


@pytest.mark.parametrize("number", ["1e9", "1E15", "-0.0", "1.50", "1e999", "123456789012345678901234567890"])
@pytest.mark.parametrize(
    "body", [b'{"a":%b}', b'{"a":%b,"a":"b"}', b'{"a":\x15%b}', b'{"choices":[{"index":0,"delta":{"a":%b}}]}']
)
def test_a_number_counts_as_it_is_written(number: str, body: bytes) -> None:
    said = body % number.encode()
    event, whole = Meter(), WholeMeter()
    if b"\x15" in body and number == "1e999":
        # A lenient reader alone takes the rest for JSON, and has no number that is as large.
        assert event.read_event(said) is Event.MALFORMED
        return
    assert event.read_event(said) is Event.PASSES
    assert 0 < event.characters <= len(said)
    if b"choices" in said:
        assert event.characters == len(number)
        whole.read(said.replace(b'{"a"', b'{"a":%b,"a"' % number.encode()))
        assert whole.output_tokens == count(number + number)


def test_a_list_of_flags_counts_no_more_than_what_stands_there() -> None:
    said = json.dumps({"m" * 100: [True] * 50}).encode()
    meter = Meter()
    assert meter.read_event(said) is Event.PASSES
    assert 100 < meter.characters <= len(said)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param([True, True, False], "murmurTrueFalse", id="flags"),
        pytest.param([731, 731], "731731", id="numbers"),
        pytest.param(["ab", "cd", "ab"], "abcdab", id="words"),
        pytest.param([{"text": "ab"}, {"text": "ab"}], "abab", id="objects"),
        pytest.param({"text": "ab", "again": "ab"}, "ab", id="under two names"),
        pytest.param({"text": "ab", "again": ["ab", "ab"]}, "abab", id="more often under another name"),
    ],
)
def test_a_text_counts_as_often_as_it_stands_under_one_name(value: object, text: str) -> None:
    assert text_in(Raw(json.dumps(value).encode()), "murmur") == text


def test_what_stands_beside_the_thoughts_of_a_translated_whole_answer_counts() -> None:
    thoughts = [{"type": "thinking", "thinking": WORDS, "signature": LONG}, {"type": "redacted_thinking", "data": LONG}]
    message = {"content": "x", "reasoning_content": WORDS, "thinking_blocks": thoughts}
    whole = WholeMeter()
    whole.is_translated = True
    whole.read(json.dumps({"choices": [{"index": 0, "message": message}]}).encode())
    assert whole.output_tokens == count("x" + WORDS) + count(LONG * 2)


def test_of_a_member_that_stands_twice_in_a_whole_answer_what_was_not_translated_counts() -> None:
    unheard = LeftOut()
    said = b'{"text":"told","murmur":"%b","murmur":"%b"}' % (WORDS.encode(), WORDS.encode())
    unheard.note_whole(said, b'{"content":"told"}', SILENT)
    assert unheard.tokens == count(WORDS * 2)
