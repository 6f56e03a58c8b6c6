"""`langchain-openai`: each check as a caller would write it, with default retries."""

import openai
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from proofs.rig.sdks.refusals import refusal_of
from proofs.rig.sdks.stage import CITY, PICTURE, Act, Usage, caught, perform, weather


@tool
def get_weather(city: str) -> str:
    """The weather in a city"""
    return weather(city)


def plain(act: Act) -> Usage:
    answer = model(act).invoke(act.prompt)
    check_words(answer)
    return usage_of(answer.usage_metadata)


def streamed(act: Act) -> object:
    chunks = list(model(act).stream(act.prompt))
    assert text_of(chunks)
    assert "stop" in [chunk.response_metadata.get("finish_reason") for chunk in chunks]
    assert not any(chunk.usage_metadata for chunk in chunks), "usage that was not asked for"
    return len(chunks)


def streamed_with_usage(act: Act) -> Usage:
    # With a base address of one's own LangChain asks for no usage unless told to.
    chunks = list(model(act).stream(act.prompt, stream_usage=True))
    (usage,) = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert text_of(chunks)
    assert "stop" in [chunk.response_metadata.get("finish_reason") for chunk in chunks]
    return usage_of(usage)


def tool_call(act: Act) -> Usage:
    answer = model(act).bind_tools([get_weather]).invoke(act.prompt)
    check_call(answer)
    return usage_of(answer.usage_metadata)


def tool_round_trip(act: Act) -> Usage:
    with_tools = model(act).bind_tools([get_weather])
    question = HumanMessage(act.prompt)
    first = with_tools.invoke([question])
    result = get_weather.invoke(check_call(first))
    last = with_tools.invoke([question, first, result])
    check_words(last)
    return usage_of(first.usage_metadata) + usage_of(last.usage_metadata)


def image_input(act: Act) -> Usage:
    picture = {"type": "image", "base64": PICTURE.partition(",")[2], "mime_type": "image/png"}
    question = HumanMessage(content_blocks=[{"type": "text", "text": act.prompt}, picture])
    answer = model(act).invoke([question])
    check_words(answer)
    return usage_of(answer.usage_metadata)


def refused(act: Act) -> object:
    return refusal_of(act, plain)


def broken_stream(act: Act) -> object:
    pieces: list[AIMessageChunk] = []
    problem = caught(openai.APIError, lambda: pieces.extend(model(act).stream(act.prompt)))
    assert text_of(pieces), "nothing came before the break"
    assert (problem.type, problem.code) == (act.type, act.code), problem.body
    return f"{len(pieces)} chunks, then {type(problem).__name__}: {problem}"


def model(act: Act) -> ChatOpenAI:
    return ChatOpenAI(base_url=act.base, api_key=act.key, model=act.model)


def check_words(answer: AIMessage) -> None:
    assert answer.text
    assert not answer.tool_calls
    assert answer.response_metadata["finish_reason"] == "stop"


def check_call(answer: AIMessage) -> dict[str, object]:
    (call,) = answer.tool_calls
    assert answer.response_metadata["finish_reason"] == "tool_calls"
    assert (call["name"], call["args"]) == ("get_weather", {"city": CITY}), call
    return call


def usage_of(usage: UsageMetadata) -> Usage:
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"], usage
    return Usage(usage["input_tokens"], usage["output_tokens"])


def text_of(chunks: list[AIMessageChunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


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
        }
    )
