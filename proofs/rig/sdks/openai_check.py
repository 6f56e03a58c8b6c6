"""The `openai` package from PyPI, versions 2 and 3: each check as a caller would write it, with default retries."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import openai
from openai import Omit, OpenAI, omit
from openai.types import CompletionUsage
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionStreamOptionsParam,
    ChatCompletionToolParam,
)

from proofs.rig.sdks.openai_media_checks import MEDIA_CHECKS
from proofs.rig.sdks.openai_responses_checks import RESPONSES_CHECKS
from proofs.rig.sdks.refusals import refusal_of
from proofs.rig.sdks.stage import CITY, PICTURE, WEATHER, Act, Usage, caught, perform, weather

TOOL: ChatCompletionToolParam = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather in a city", "parameters": WEATHER},
}


def plain(act: Act) -> Usage:
    answer = ask(act)
    check_words(answer)
    return usage_of(answer.usage)


def streamed(act: Act) -> object:
    chunks = list(stream(act))
    assert text_of(chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert not any(chunk.usage for chunk in chunks), "a usage chunk that was not asked for"
    return len(chunks)


def streamed_with_usage(act: Act) -> Usage:
    *chunks, last = stream(act, {"include_usage": True})
    assert text_of(chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert not last.choices
    assert not any(chunk.usage for chunk in chunks), "usage before the end"
    return usage_of(last.usage)


def tool_call(act: Act) -> Usage:
    answer = ask(act, tools=[TOOL])
    check_call(answer)
    return usage_of(answer.usage)


def tool_round_trip(act: Act) -> Usage:
    messages: list[Any] = [{"role": "user", "content": act.prompt}]
    first = ask(act, messages, tools=[TOOL])
    call = check_call(first)
    result = weather(**json.loads(call.function.arguments))
    messages += [first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": result}]
    last = ask(act, messages, tools=[TOOL])
    check_words(last)
    return usage_of(first.usage) + usage_of(last.usage)


def image_input(act: Act) -> Usage:
    parts = [{"type": "text", "text": act.prompt}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    answer = ask(act, [{"role": "user", "content": parts}])
    check_words(answer)
    return usage_of(answer.usage)


def refused(act: Act) -> object:
    return refusal_of(act, plain)


def broken_stream(act: Act) -> object:
    pieces: list[ChatCompletionChunk] = []
    problem = caught(openai.APIError, lambda: pieces.extend(stream(act)))
    assert text_of(pieces), "nothing came before the break"
    assert (problem.type, problem.code) == (act.type, act.code), problem.body
    return f"{len(pieces)} chunks, then {type(problem).__name__}: {problem}"


def client(act: Act) -> OpenAI:
    return OpenAI(base_url=act.base, api_key=act.key)


def ask(
    act: Act, messages: list[Any] | None = None, tools: Iterable[ChatCompletionToolParam] | Omit = omit
) -> ChatCompletion:
    said = messages or [{"role": "user", "content": act.prompt}]
    return client(act).chat.completions.create(model=act.model, messages=said, tools=tools)


def stream(act: Act, options: ChatCompletionStreamOptionsParam | Omit = omit) -> Iterator[ChatCompletionChunk]:
    return client(act).chat.completions.create(
        model=act.model, messages=[{"role": "user", "content": act.prompt}], stream=True, stream_options=options
    )


def check_words(answer: ChatCompletion) -> None:
    (choice,) = answer.choices
    assert choice.message.content
    assert not choice.message.tool_calls
    assert choice.finish_reason == "stop"


def check_call(answer: ChatCompletion) -> ChatCompletionMessageFunctionToolCall:
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls or []
    assert call.type == "function"
    assert call.id
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": CITY}), call
    return call


def usage_of(usage: CompletionUsage | None) -> Usage:
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage
    return Usage(usage.prompt_tokens, usage.completion_tokens)


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


if __name__ == "__main__":
    perform(
        {
            "plain": plain,
            "streamed": streamed,
            "streamed with usage": streamed_with_usage,
            "tool call": tool_call,
            "tool round trip": tool_round_trip,
            "image input": image_input,
            "refused": refused,
            "cut": refused,
            "broken stream": broken_stream,
            **MEDIA_CHECKS,
            **RESPONSES_CHECKS,
        }
    )
