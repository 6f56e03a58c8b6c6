"""What holds in every wire format: the directions, and the truth about each call."""

import asyncio
import json
from typing import Any

import pytest

from tests.simulator.conftest import KEY
from tests.simulator.formats import ANTHROPIC, AZURE, FORMATS, GEMINI, OPENAI, Format
from tests.simulator.raw import A_WHILE_SECONDS, Seen, chunks_in, unchunked
from tollkeeper_simulator.speech import text_of
from tollkeeper_simulator.tokens import count_text, split_tokens
from tools.simulator import Simulator, TruthRow

every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
whole_and_streamed = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


async def truth_of(sim: Simulator, seen: Seen) -> TruthRow:
    return await asyncio.to_thread(sim.wait_for, seen.request_id)


@every_format
@whole_and_streamed
async def test_what_is_told_is_the_truth(sim: Simulator, form: Format, stream: bool) -> None:
    seen = await form.call(sim, "hi [[tokens=20 per_chunk=3 cached=2 thinking=5]]", stream=stream)
    truth = await truth_of(sim, seen)
    assert form.spoken(seen) == text_of(20)
    assert form.last_usage(seen) == (truth["input_tokens"], truth["output_tokens"])
    assert (truth["vendor"], truth["model"], truth["stream"]) == (form.name, "demo-small", stream)
    assert (truth["output_tokens"], truth["thinking_tokens"], truth["cached_tokens"]) == (25, 5, 2)
    assert (truth["status"], truth["ending"], truth["bytes_sent"]) == (200, "finished", len(seen.data))


@every_format
async def test_the_same_words_are_the_same_input(sim: Simulator, form: Format) -> None:
    truth = await truth_of(sim, await form.call(sim, "how are you?"))
    of_openai = await truth_of(sim, await OPENAI.call(sim, "how are you?"))
    assert truth["input_tokens"] == of_openai["input_tokens"] > 0


async def test_only_who_has_a_price_for_it_writes_a_cache(sim: Simulator) -> None:
    written = {
        form.name: (await truth_of(sim, await form.call(sim, "[[cache_write=50 cached=70]]")))["cache_write_tokens"]
        for form in FORMATS
    }
    assert written == {"openai": 50, "azure": 50, "anthropic": 50, "gemini": 0}


PARTS = {
    "cache_write_tokens": "cache_write=50",
    "cache_write_1h_tokens": "cache_write_1h=30",
    "image_input_tokens": "image_in=258",
    "audio_input_tokens": "audio_in=32",
    "image_output_tokens": "image_out=9",
    "audio_output_tokens": "audio_out=7",
    "tool_uses": "tool_uses=3",
}
MEDIA = {"image_input_tokens": 258, "audio_input_tokens": 32, "image_output_tokens": 9, "audio_output_tokens": 7}
# What each vendor tells; the others never come true.
TOLD = {
    "openai": {"cache_write_tokens": 50, **MEDIA},
    "azure": {"cache_write_tokens": 50, **MEDIA},
    "anthropic": {"cache_write_tokens": 80, "cache_write_1h_tokens": 30, "tool_uses": 3},
    "gemini": MEDIA,
}


def told_in(form: Format, seen: Seen) -> dict[str, int]:
    """The parts of the last usage, as the vendor documents them."""
    usage = [told.get("usage") or told.get("usageMetadata") for told in form.told(seen)]
    last = [each for each in usage if each][-1]
    if form is ANTHROPIC:
        written = last["cache_creation"]
        assert last["cache_creation_input_tokens"] == sum(written.values())
        return {
            "cache_write_tokens": last["cache_creation_input_tokens"],
            "cache_write_1h_tokens": written["ephemeral_1h_input_tokens"],
            "tool_uses": last["server_tool_use"]["web_search_requests"],
        }
    if form is GEMINI:
        names = ("promptTokensDetails", "candidatesTokensDetails")
        asked, told = ({each["modality"]: each["tokenCount"] for each in last[name]} for name in names)
        assert (sum(asked.values()), sum(told.values())) == (last["promptTokenCount"], last["candidatesTokenCount"])
        return dict(zip(MEDIA, (asked["IMAGE"], asked["AUDIO"], told["IMAGE"], told["AUDIO"]), strict=True))
    asked, told = last["prompt_tokens_details"], last["completion_tokens_details"]
    media = asked["image_tokens"], asked["audio_tokens"], told["image_tokens"], told["audio_tokens"]
    return {"cache_write_tokens": asked["cache_write_tokens"], **dict(zip(MEDIA, media, strict=True))}


@every_format
@whole_and_streamed
async def test_parts_of_usage_are_told_as_the_vendor_has_them(sim: Simulator, form: Format, stream: bool) -> None:
    plain = await truth_of(sim, await form.call(sim, "hi [[tokens=20]]" + " word" * 200))
    seen = await form.call(sim, f"hi [[tokens=20 {' '.join(PARTS.values())}]]" + " word" * 200, stream=stream)
    truth = await truth_of(sim, seen)
    assert told_in(form, seen) == TOLD[form.name]
    assert {name: truth[name] for name in PARTS if truth[name]} == TOLD[form.name]
    of_media = truth["image_input_tokens"] + truth["audio_input_tokens"]
    directions = count_text(f"hi [[tokens=20 {' '.join(PARTS.values())}]]") - count_text("hi [[tokens=20]]")
    assert truth["input_tokens"] == plain["input_tokens"] + directions + of_media
    assert form.last_usage(seen) == (truth["input_tokens"], 20)


@every_format
async def test_an_answer_without_parts_is_told_without_them(sim: Simulator, form: Format) -> None:
    seen = await form.call(sim, "hi [[tokens=20]]")
    names = (b"cache_write_tokens", b"image_tokens", b"server_tool_use", b"candidatesTokensDetails")
    assert not [name for name in names if name in seen.data]


@every_format
@whole_and_streamed
@pytest.mark.parametrize("at", [0, 4, 1_000])
async def test_a_cut_resets_after_what_was_sent(sim: Simulator, form: Format, at: int, stream: bool) -> None:
    seen = await form.call(sim, f"[[tokens=20 cut_at={at}]]", stream=stream)
    truth = await truth_of(sim, seen)
    assert seen.ended == "reset"
    assert (truth["ending"], truth["output_tokens"]) == ("cut", min(at, 20))
    assert truth["bytes_sent"] == len(seen.data)


@pytest.mark.parametrize("form", [ANTHROPIC, GEMINI], ids=lambda form: form.name)
@whole_and_streamed
async def test_a_cut_can_come_among_the_thoughts(sim: Simulator, form: Format, stream: bool) -> None:
    fields: dict[str, Any] = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
    seen = await form.call(sim, "[[tokens=9 thinking=6 cut_at=4]]", stream=stream, **(fields if form is GEMINI else {}))
    truth = await truth_of(sim, seen)
    assert (truth["output_tokens"], truth["thinking_tokens"]) == (4, 4)


@every_format
async def test_only_what_is_said_is_a_chunk(sim: Simulator, form: Format) -> None:
    """Hidden thoughts and the name of a tool are sent with a frame, which is none."""
    hidden = await truth_of(sim, await form.call(sim, "[[tokens=9 thinking=6 cut_at=7]]"))
    assert hidden["output_tokens"] == (7 if form is ANTHROPIC else 13)
    called = await truth_of(sim, await form.call(sim, "call the tool [[cut_at=1]]", **form.tools))
    pieces = [count for _, count in split_tokens('{"city":"river stone","days":3}')]
    assert called["output_tokens"] == count_text("get_weather") + (sum(pieces) if form is GEMINI else pieces[0])


PICTURES: dict[str, Any] = {
    "anthropic": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}],
    "gemini": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
}


@pytest.mark.parametrize("form", [ANTHROPIC, GEMINI], ids=lambda form: form.name)
async def test_directions_are_in_the_last_text_whatever_follows_it(sim: Simulator, form: Format) -> None:
    body = form.body("[[tokens=3]]")
    name = "messages" if form is ANTHROPIC else "contents"
    body[name].append({"role": "user", "content" if form is ANTHROPIC else "parts": PICTURES[form.name]})
    assert form.spoken(await form.send(sim, body)) == text_of(3)


@every_format
@whole_and_streamed
async def test_it_stalls_and_half_closes(sim: Simulator, form: Format, stream: bool) -> None:
    stalled = await form.call(sim, "[[tokens=20 stall_at=4]]", stream=stream, quiet_seconds=A_WHILE_SECONDS)
    assert stalled.ended == "open"
    assert (await truth_of(sim, stalled))["output_tokens"] == 4
    half = await form.call(sim, "[[tokens=20 half_close_at=3]]", stream=stream)
    assert half.ended == "closed"
    assert (await truth_of(sim, half))["output_tokens"] == 3


@every_format
async def test_an_error_is_the_last_event(sim: Simulator, form: Format) -> None:
    seen = await form.call(sim, '[[error_at=2 status_text="it broke"]]', stream=True)
    truth = await truth_of(sim, seen)
    assert json.loads(seen.events[-1])["error"]["message"] == "it broke"
    assert (truth["ending"], truth["output_tokens"]) == ("error_sent", 2)


@every_format
async def test_a_malformed_event_stands_between_good_ones(sim: Simulator, form: Format) -> None:
    seen = await form.call(sim, "[[tokens=4 malformed_at=2]]", stream=True)
    assert sum(event.startswith("{") and not event.endswith("}") for event in seen.events) == 1
    assert form.spoken(seen) == text_of(4)


ENDS = {"openai": "[DONE]", "azure": "[DONE]", "anthropic": '{"type":"message_stop"}'}
FINISHES = {"openai": "finish_reason", "azure": "finish_reason", "anthropic": "stop_reason", "gemini": "finishReason"}


@every_format
async def test_a_stream_can_end_cleanly_and_too_soon(sim: Simulator, form: Format) -> None:
    undone = await form.call(sim, "[[tokens=4 no_done=1]]", stream=True)
    unfinished = await form.call(sim, "[[tokens=4 no_finish=1]]", stream=True)
    assert ENDS.get(form.name, "?") not in undone.events
    assert (await truth_of(sim, undone))["ending"] == ("no_done" if form.name in ENDS else "finished")
    assert _reasons(form, undone)
    assert not _reasons(form, unfinished)
    assert (await truth_of(sim, unfinished))["ending"] == "no_finish"
    assert unchunked(unfinished.body)
    assert unfinished.body.endswith(b"0\r\n\r\n")


def _reasons(form: Format, seen: Seen) -> list[str]:
    choices = [
        choice
        for told in form.told(seen)
        for choice in (told, told.get("delta"), *told.get("choices", ()), *told.get("candidates", ()))
    ]
    return [choice[FINISHES[form.name]] for choice in choices if choice and choice.get(FINISHES[form.name])]


REASONS = {
    "openai": ("stop", "length", "tool_calls", "content_filter"),
    "azure": ("stop", "length", "tool_calls", "content_filter"),
    "anthropic": ("end_turn", "max_tokens", "tool_use", "refusal"),
    "gemini": ("STOP", "MAX_TOKENS", "STOP", "SAFETY"),
}


@every_format
@whole_and_streamed
async def test_the_reason_of_an_end_is_in_the_vendors_word(sim: Simulator, form: Format, stream: bool) -> None:
    cap: dict[str, Any] = {"generationConfig": {"maxOutputTokens": 3}} if form is GEMINI else {"max_tokens": 3}
    calls = [
        form.call(sim, "hi", stream=stream),
        form.call(sim, "[[thinking=1]]", stream=stream, **cap),
        form.call(sim, "call the tool", stream=stream, **form.tools),
        form.call(sim, "[[safety=1 tokens=2]]", stream=stream),
    ]
    seen = [await call for call in calls]
    assert tuple(_reasons(form, one)[-1] for one in seen) == REASONS[form.name]
    assert form.spoken(seen[1]) == form.spoken(seen[3]) == text_of(2)


@every_format
async def test_drips_comments_and_line_ends(sim: Simulator, form: Format) -> None:
    dripped = await form.call(sim, "[[tokens=3 drip=1]]", stream=True)
    assert {len(chunk) for chunk in chunks_in(dripped.body)[:-1]} == {1}
    commented = await form.call(sim, "[[tokens=3 comment=1]]", stream=True)
    assert unchunked(commented.body).count(b": still here") > 3
    ended = unchunked((await form.call(sim, "[[tokens=3 crlf=1]]", stream=True)).body)
    assert ended.count(b"\n") == ended.count(b"\r\n") > 0
    assert form.spoken(dripped) == form.spoken(commented) == text_of(3)
    whole = await form.call(sim, "[[tokens=3 drip=1]]")
    assert form.spoken(whole) == text_of(3)


@every_format
@whole_and_streamed
async def test_a_giant_has_the_size_that_was_asked_for(sim: Simulator, form: Format, stream: bool) -> None:
    seen = await form.call(sim, "[[tokens=2 long_line=300000]]", stream=stream)
    assert len(unchunked(seen.body) if stream else seen.body) > 300_000
    assert form.spoken(seen) == text_of(2)


@every_format
async def test_answers_that_are_none(sim: Simulator, form: Format) -> None:
    garbage = await form.call(sim, "[[json_garbage=1]]")
    assert (garbage.status, garbage.body[:6]) == (200, b"<html>")
    away = await form.call(sim, "[[redirect=http://127.0.0.1:1/v1]]")
    assert (away.status, "location: http://127.0.0.1:1/v1" in away.head) == (302, True)
    bomb = await form.call(sim, "[[gzip_bomb=5000000]]")
    assert "content-encoding: gzip" in bomb.head
    short = await form.call(sim, "[[wrong_length=1]]")
    assert (short.ended, f"content-length: {len(short.body) + 100}" in short.head) == ("closed", True)


@every_format
@whole_and_streamed
@pytest.mark.parametrize(
    ("said", "told"),
    [("no", None), ("absurd", 1_000_000_016), ("negative", -16), ("zero", 0), ("huge", 2**63), ("string", "16")],
)
async def test_usage_can_be_wrong_and_the_truth_is_not(
    sim: Simulator, form: Format, said: str, told: object, stream: bool
) -> None:
    seen = await form.call(sim, f"[[usage={said}]]", stream=stream)
    usage = form.last_usage(seen)
    assert (usage and usage[1]) == told
    assert (await truth_of(sim, seen))["output_tokens"] == 16


@every_format
async def test_usage_can_come_twice(sim: Simulator, form: Format) -> None:
    once = await form.call(sim, "[[tokens=1]]", stream=True)
    twice = await form.call(sim, "[[tokens=1 usage=twice]]", stream=True)
    usages = [sum(form.usage(told) is not None for told in form.told(seen)) for seen in (once, twice)]
    assert usages[1] == usages[0] + 1
    whole = await form.call(sim, "[[usage=twice]]")
    assert whole.body.count(b'"usage') == 2


@every_format
@whole_and_streamed
async def test_refusals_cost_nothing_and_say_what_was_asked(sim: Simulator, form: Format, stream: bool) -> None:
    seen = await form.call(sim, '[[status=503 status_text="so it goes"]]', stream=stream)
    truth = await truth_of(sim, seen)
    assert (seen.status, json.loads(seen.body)["error"]["message"]) == (503, "so it goes")
    assert (truth["input_tokens"], truth["output_tokens"], truth["ending"]) == (0, 0, "refused")


@every_format
async def test_a_direction_that_does_not_exist_is_told(sim: Simulator, form: Format) -> None:
    seen = await form.call(sim, "[[tokns=2]]")
    assert seen.status == 400
    assert "tokns" in json.loads(seen.body)["error"]["message"]


@every_format
async def test_when_to_come_back_is_said_where_the_vendor_says_it(sim: Simulator, form: Format) -> None:
    seen = await form.call(sim, "[[status=429 retry_after=7]]")
    if form is GEMINI:
        assert json.loads(seen.body)["error"]["details"][0]["retryDelay"] == "7s"
    else:
        assert "retry-after: 7" in seen.head


@every_format
async def test_what_is_no_json_is_refused_and_on_file(sim: Simulator, form: Format) -> None:
    for body in (b"{nope", b"[]", b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"):
        seen = await form.send(sim, body)
        truth = await truth_of(sim, seen)
        assert (seen.status, truth["status"], truth["vendor"]) == (400, 400, form.name)
        assert json.loads(seen.body)["error"]["message"]


WRONG_KEYS = {"openai": 401, "azure": 401, "anthropic": 401, "gemini": 400}
NO_KEYS = WRONG_KEYS | {"gemini": 403}


@every_format
async def test_the_key_stands_where_the_vendor_wants_it(locked_sim: Simulator, form: Format) -> None:
    body = form.body("hi")
    right = f"Bearer {KEY}" if form is OPENAI else KEY
    assert (await form.send(locked_sim, body, headers={form.key_header: right})).status == 200
    assert (await form.send(locked_sim, body, headers={form.key_header: "wrong"})).status == WRONG_KEYS[form.name]
    assert (await form.send(locked_sim, body)).status == NO_KEYS[form.name]


@pytest.mark.not_quick
async def test_a_storm_is_over_everyone() -> None:
    with Simulator(storm="1:529") as stormy:
        for form in (OPENAI, AZURE, ANTHROPIC, GEMINI):
            assert (await form.call(stormy, "hi")).status == 529
