"""The `openai` package from PyPI, versions 2 and 3: each check as a caller would write it, with default retries."""

import json
from collections.abc import Iterator

import openai
from openai import Omit, OpenAI, omit
from openai.types.chat import ChatCompletionChunk, ChatCompletionStreamOptionsParam, ChatCompletionToolParam

from tools.proofs.sdks.stage import PICTURE, WEATHER, Act, caught, perform

TOOL: ChatCompletionToolParam = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather in a city", "parameters": WEATHER},
}
REFUSALS = {
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    524: openai.InternalServerError,
}


def plain(act: Act) -> object:
    answer = client(act).chat.completions.create(model=act.model, messages=[{"role": "user", "content": act.prompt}])
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == act.tokens, answer.usage
    return answer.usage.total_tokens


def streamed(act: Act) -> object:
    chunks = list(stream(act))
    assert text_of(chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert not any(chunk.usage for chunk in chunks), "a usage chunk that was not asked for"
    return len(chunks)


def streamed_with_usage(act: Act) -> object:
    chunks = list(stream(act, {"include_usage": True}))
    usage = chunks[-1].usage
    assert text_of(chunks)
    assert usage is not None
    assert usage.completion_tokens == act.tokens, usage
    return usage.total_tokens


def tool_call(act: Act) -> object:
    answer = client(act).chat.completions.create(
        model=act.model, messages=[{"role": "user", "content": act.prompt}], tools=[TOOL]
    )
    assert answer.choices[0].finish_reason == "tool_calls"
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "get_weather"
    return json.loads(call.function.arguments)


def image_input(act: Act) -> object:
    answer = client(act).chat.completions.create(
        model=act.model,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": act.prompt},
                    {"type": "image_url", "image_url": {"url": PICTURE}},
                ],
            }
        ],
    )
    assert answer.choices[0].message.content
    return answer.choices[0].message.content


def refused(act: Act) -> object:
    refusal = caught(openai.APIStatusError, lambda: plain(act))
    assert type(refusal) is REFUSALS[act.status], refusal
    assert (refusal.status_code, refusal.type, refusal.code) == (act.status, act.type, act.code), refusal
    assert act.headers.items() <= dict(refusal.response.headers).items(), refusal.response.headers
    assert isinstance(refusal.body, dict)
    assert refusal.body["message"].startswith(act.message), refusal
    assert refusal.request_id
    return refusal


def broken_stream(act: Act) -> object:
    pieces: list[ChatCompletionChunk] = []
    problem = caught(openai.APIError, lambda: pieces.extend(stream(act)))
    assert text_of(pieces), "nothing came before the break"
    assert (problem.type, problem.code) == (act.type, act.code), problem.body
    return f"{len(pieces)} chunks, then {type(problem).__name__}: {problem}"


def client(act: Act) -> OpenAI:
    return OpenAI(base_url=act.base, api_key=act.key)


def stream(act: Act, options: ChatCompletionStreamOptionsParam | Omit = omit) -> Iterator[ChatCompletionChunk]:
    return client(act).chat.completions.create(
        model=act.model, messages=[{"role": "user", "content": act.prompt}], stream=True, stream_options=options
    )


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


if __name__ == "__main__":
    perform(
        {
            "plain": plain,
            "streamed": streamed,
            "streamed with usage": streamed_with_usage,
            "tool call": tool_call,
            "image input": image_input,
            "wrong key": refused,
            "unknown model": refused,
            "insufficient quota": refused,
            "cut": refused,
            "broken stream": broken_stream,
        }
    )
