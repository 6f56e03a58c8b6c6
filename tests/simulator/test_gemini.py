"""The simulator as Google's own client library sees it."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from tests.simulator.conftest import KEY
from tollkeeper_simulator.speech import text_of, thoughts_of
from tollkeeper_simulator.tokens import count_text
from tools.simulator import Simulator

TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather",
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={
                    "city": types.Schema(type=types.Type.STRING),
                    "days": types.Schema(type=types.Type.INTEGER),
                },
            ),
        )
    ]
)
SHOWN = types.ThinkingConfig(include_thoughts=True)
MODEL = "gemini-2.5-demo"


def client(sim: Simulator, key: str = KEY) -> genai.Client:
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=sim.base.removesuffix("/v1")))


@pytest.fixture
def caller(locked_sim: Simulator) -> Iterator[genai.Client]:
    with client(locked_sim) as opened:
        yield opened


def ask(caller: genai.Client, contents: Any, *, stream: bool = False, model: str = MODEL, **config: Any) -> list[Any]:
    """The answer, or the chunks of it."""
    settings = types.GenerateContentConfig(**config)
    if stream:
        return list(caller.models.generate_content_stream(model=model, contents=contents, config=settings))
    return [caller.models.generate_content(model=model, contents=contents, config=settings)]


def parts_of(answers: list[Any]) -> list[types.Part]:
    contents = [answer.candidates[0].content for answer in answers if answer.candidates]
    return [part for content in contents if content for part in content.parts or ()]


def test_an_answer_has_the_words_that_were_asked_for_and_counts_them(caller: genai.Client) -> None:
    answer = ask(caller, "hi [[tokens=20 cached=4]]", system_instruction="be brief")[0]
    assert answer.text == text_of(20)
    assert (answer.model_version, bool(answer.response_id)) == (MODEL, True)
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    usage = answer.usage_metadata
    counted = sum(3 + count_text(text) for text in ("system", "user")) + 3
    counted += count_text("be brief") + count_text("hi [[tokens=20 cached=4]]")
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (counted, 4)
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (20, None)
    assert usage.total_token_count == counted + 20


def test_a_stream_tells_in_every_chunk_what_was_used_so_far(caller: genai.Client) -> None:
    chunks = ask(caller, "hi [[tokens=5]]", stream=True)
    assert "".join(chunk.text for chunk in chunks) == text_of(5)
    assert [chunk.usage_metadata.candidates_token_count for chunk in chunks] == [1, 2, 3, 4, 5, 5]
    assert [chunk.candidates[0].finish_reason for chunk in chunks] == [None] * 5 + [types.FinishReason.STOP]
    assert len({chunk.response_id for chunk in chunks}) == 1


@pytest.mark.parametrize("model", [MODEL, "gemini-3-demo"])
@pytest.mark.parametrize("thinks", [False, True], ids=["plain", "thinking"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_tool_is_called_and_its_result_answered(caller: genai.Client, stream: bool, thinks: bool, model: str) -> None:
    config: dict[str, Any] = {"tools": [TOOL]} | ({"thinking_config": SHOWN} if thinks else {})
    asked = parts_of(ask(caller, "Please call the tool.", stream=stream, model=model, **config))
    calls = [part for part in asked if part.function_call]
    assert len(calls) == 1
    call: Any = calls[0].function_call
    assert (call.name, call.args, bool(call.id)) == ("get_weather", {"city": "river stone", "days": 3}, True)
    assert bool(calls[0].thought_signature) == (thinks or model != MODEL)
    result = types.Part.from_function_response(name=call.name, response={"result": "sunny"})
    talk = [
        types.Content(role="user", parts=[types.Part(text="Please call the tool.")]),
        types.Content(role="model", parts=[part for part in asked if not part.thought]),
        types.Content(role="user", parts=[result]),
    ]
    answer = ask(caller, talk, stream=stream, model=model, **config)
    assert "".join(one.text or "" for one in answer) == text_of(16)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_thoughts_are_counted_and_shown_to_who_wants_them(caller: genai.Client, stream: bool) -> None:
    shown = ask(caller, "[[tokens=4 thinking=6 per_chunk=2]]", stream=stream, thinking_config=SHOWN)
    thoughts = "".join(part.text or "" for part in parts_of(shown) if part.thought)
    words = "".join(part.text or "" for part in parts_of(shown) if not part.thought)
    assert (thoughts, words) == (thoughts_of(6), text_of(4))
    hidden = ask(caller, "[[tokens=4 thinking=6 per_chunk=2]]", stream=stream)
    assert not any(part.thought for part in parts_of(hidden))
    for answer in (shown, hidden):
        usage = answer[-1].usage_metadata
        assert (usage.candidates_token_count, usage.thoughts_token_count) == (4, 6)
        assert usage.total_token_count == usage.prompt_token_count + 10


@pytest.mark.parametrize(
    ("shown", "expected"),
    [(True, [(None, 1), (None, 2), (1, 2), (2, 2), (2, 2)]), (False, [(1, 2), (2, 2), (2, 2)])],
    ids=["shown", "hidden"],
)
def test_thoughts_and_words_are_counted_apart_in_every_chunk(
    caller: genai.Client, shown: bool, expected: list[tuple[int | None, int]]
) -> None:
    thinking = types.ThinkingConfig(include_thoughts=shown)
    usages = [
        chunk.usage_metadata for chunk in ask(caller, "[[tokens=2 thinking=2]]", stream=True, thinking_config=thinking)
    ]
    assert [(usage.candidates_token_count, usage.thoughts_token_count) for usage in usages] == expected


def test_who_wants_thoughts_gets_some_undirected(caller: genai.Client) -> None:
    assert [bool(part.thought) for part in parts_of(ask(caller, "hi", thinking_config=SHOWN))] == [True, False]


def test_the_cap_is_for_thoughts_and_words(caller: genai.Client) -> None:
    answer = ask(caller, "[[thinking=6 tokens=9]]", max_output_tokens=10)[0]
    assert answer.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert answer.usage_metadata.candidates_token_count == 4
    answer = ask(caller, "[[thinking=6 tokens=9]]", max_output_tokens=5)[0]
    assert answer.text is None
    assert answer.usage_metadata.thoughts_token_count == 5


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_several_candidates_are_all_told_and_all_counted(caller: genai.Client, stream: bool) -> None:
    answers = ask(caller, "[[tokens=3 thinking=2]]", stream=stream, candidate_count=2)
    for index in (0, 1):
        mine = [one for answer in answers for one in answer.candidates if one.index == index]
        assert "".join(part.text or "" for one in mine for part in one.content.parts or ()) == text_of(3)
        assert mine[-1].finish_reason == types.FinishReason.STOP
    usage = answers[-1].usage_metadata
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (6, 4)


def test_no_chunk_reports_more_than_has_been_sent(caller: genai.Client) -> None:
    chunks = ask(caller, "hi [[tokens=9 per_chunk=3]]", stream=True, candidate_count=3)
    texts = [chunk.candidates[0].content.parts[0].text for chunk in chunks]
    sent = [sum(map(count_text, texts[: at + 1])) for at in range(len(texts))]
    reported = [chunk.usage_metadata.candidates_token_count for chunk in chunks]
    assert all(told <= out for told, out in zip(reported, sent, strict=True))
    assert reported[-1] == sent[-1] == 27


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_answer_can_be_withheld_and_a_prompt_blocked(caller: genai.Client, stream: bool) -> None:
    withheld = ask(caller, "[[safety=1 tokens=0]]", stream=stream)[-1]
    assert withheld.candidates[0].finish_reason == types.FinishReason.SAFETY
    assert withheld.candidates[0].content is None
    assert withheld.candidates[0].safety_ratings[0].blocked
    blocked = ask(caller, "[[blocked=1]]", stream=stream)
    assert len(blocked) == 1
    assert blocked[0].candidates is None
    assert blocked[0].prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT
    assert blocked[0].usage_metadata.prompt_token_count > 0
    assert blocked[0].usage_metadata.candidates_token_count is None


def test_images_are_taken_and_an_echo_is_what_was_said(caller: genai.Client) -> None:
    picture = types.Part.from_bytes(data=base64.b64decode("AAAA"), mime_type="image/png")
    file = types.Part.from_uri(file_uri="https://example.com/a.png", mime_type="image/png")
    text = 'Grüße "👋🏽"\n'
    assert ask(caller, [picture, file, text + "[[echo=1]]"])[0].text == text


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        (400, errors.ClientError, "INVALID_ARGUMENT"),
        (403, errors.ClientError, "PERMISSION_DENIED"),
        (404, errors.ClientError, "NOT_FOUND"),
        (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (500, errors.ServerError, "INTERNAL"),
        (503, errors.ServerError, "UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_status_is_given_as_asked(
    caller: genai.Client, status: int, kind: type[errors.APIError], word: str, stream: bool
) -> None:
    with pytest.raises(kind) as refusal:
        ask(caller, f'[[status={status} status_text="so it goes"]]', stream=stream)
    assert (refusal.value.code, refusal.value.status, refusal.value.message) == (status, word, "so it goes")


def test_an_error_in_mid_stream_reaches_the_caller_as_one(caller: genai.Client) -> None:
    stream = caller.models.generate_content_stream(model=MODEL, contents="[[error_at=2]]")
    assert [next(stream).text, next(stream).text] == ["river", " stone"]
    with pytest.raises(errors.ServerError, match="overloaded"):
        next(stream)


def test_a_wrong_key_is_a_bad_request(locked_sim: Simulator) -> None:
    with client(locked_sim, "AIza-wrong") as stranger, pytest.raises(errors.ClientError) as refusal:
        ask(stranger, "hi")
    assert (refusal.value.code, refusal.value.status) == (400, "INVALID_ARGUMENT")
    assert refusal.value.message == "API key not valid. Please pass a valid API key."
    assert refusal.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"


def test_models_are_listed(caller: genai.Client) -> None:
    assert [model.name for model in caller.models.list()] == ["models/demo-small", "models/demo-large"]
