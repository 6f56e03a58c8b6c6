"""`langchain-openai`: each check as a caller would write it, with default retries."""

import openai
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_openai import ChatOpenAI

from tools.proofs.sdks.stage import PICTURE, WEATHER, Act, caught, perform

TOOL = {"title": "get_weather", "description": "The weather in a city", **WEATHER}


def plain(act: Act) -> object:
    answer = model(act).invoke(act.prompt)
    assert answer.text
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.usage_metadata["output_tokens"] == act.tokens, answer.usage_metadata
    return answer.usage_metadata["total_tokens"]


def streamed(act: Act) -> object:
    chunks = list(model(act).stream(act.prompt))
    assert text_of(chunks)
    assert "stop" in [chunk.response_metadata.get("finish_reason") for chunk in chunks]
    assert not any(chunk.usage_metadata for chunk in chunks), "usage that was not asked for"
    return len(chunks)


def streamed_with_usage(act: Act) -> object:
    # With a base address of one's own LangChain asks for no usage unless told to.
    chunks = list(model(act).stream(act.prompt, stream_usage=True))
    (usage,) = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert text_of(chunks)
    assert usage["output_tokens"] == act.tokens, usage
    return usage["total_tokens"]


def tool_call(act: Act) -> object:
    (call,) = model(act).bind_tools([TOOL]).invoke(act.prompt).tool_calls
    assert call["name"] == "get_weather"
    return call["args"]


def image_input(act: Act) -> object:
    picture = {"type": "image", "base64": PICTURE.partition(",")[2], "mime_type": "image/png"}
    question = HumanMessage(content_blocks=[{"type": "text", "text": act.prompt}, picture])
    answer = model(act).invoke([question])
    assert answer.text
    return answer.text


def refused(act: Act) -> object:
    refusal = caught(openai.APIStatusError, lambda: plain(act))
    assert (refusal.status_code, refusal.type, refusal.code) == (act.status, act.type, act.code), refusal
    assert act.headers.items() <= dict(refusal.response.headers).items(), refusal.response.headers
    assert refusal.body["message"].startswith(act.message), refusal
    assert refusal.request_id
    return refusal


def broken_stream(act: Act) -> object:
    pieces: list[AIMessageChunk] = []
    problem = caught(openai.APIError, lambda: pieces.extend(model(act).stream(act.prompt)))
    assert text_of(pieces), "nothing came before the break"
    assert (problem.type, problem.code) == (act.type, act.code), problem.body
    return f"{len(pieces)} chunks, then {type(problem).__name__}: {problem}"


def model(act: Act) -> ChatOpenAI:
    return ChatOpenAI(base_url=act.base, api_key=act.key, model=act.model)


def text_of(chunks: list[AIMessageChunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


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
