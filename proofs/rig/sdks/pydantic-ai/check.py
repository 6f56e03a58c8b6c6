"""`pydantic-ai`, in its slim package: each check as a caller would write it, with default retries."""

import base64

from pydantic_ai import Agent, BinaryContent, ModelHTTPError, ModelResponse, ToolCallPart
from pydantic_ai.exceptions import ModelRequestRejectedError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.usage import RunUsage

from proofs.rig.sdks.stage import CITY, PICTURE, Act, Usage, caught, perform, weather


def get_weather(city: str) -> str:
    """The weather in a city"""
    return weather(city)


def plain(act: Act) -> Usage:
    result = agent(act).run_sync(act.prompt)
    assert result.output
    assert result.response.finish_reason == "stop"
    return usage_of(result.usage, requests=1)


def streamed_with_usage(act: Act) -> Usage:
    result = agent(act).run_stream_sync(act.prompt)
    assert "".join(result.stream_text(delta=True))
    assert result.response.finish_reason == "stop"
    return usage_of(result.usage, requests=1)


def tool_round_trip(act: Act) -> Usage:
    result = agent(act).run_sync(act.prompt)
    first, last = [message for message in result.all_messages() if isinstance(message, ModelResponse)]
    (call,) = [part for part in first.parts if isinstance(part, ToolCallPart)]
    assert first.finish_reason == "tool_call"
    assert (call.tool_name, call.args_as_dict()) == ("get_weather", {"city": CITY}), call
    assert result.output
    assert last.finish_reason == "stop"
    return usage_of(result.usage, requests=2)


def image_input(act: Act) -> Usage:
    picture = BinaryContent(base64.b64decode(PICTURE.partition(",")[2]), media_type="image/png")
    result = agent(act).run_sync([act.prompt, picture])
    assert result.output
    assert result.response.finish_reason == "stop"
    return usage_of(result.usage, requests=1)


def refused(act: Act) -> object:
    refusal = caught(ModelHTTPError, lambda: plain(act))
    assert isinstance(refusal, ModelRequestRejectedError), type(refusal)
    told = (refusal.status_code, refusal.provider_error_type, refusal.provider_error_code)
    assert told == (act.status, act.type, act.code), told
    assert refusal.body["message"].startswith(act.message), refusal
    assert refusal.headers["x-request-id"]
    return refusal


def agent(act: Act) -> Agent:
    provider = OpenAICompatibleProvider("tollkeeper", base_url=act.base, api_key=act.key)
    tools = [get_weather] if act.check == "tool round trip" else []
    return Agent(OpenAIChatModel(act.model, provider=provider), tools=tools)


def usage_of(usage: RunUsage, *, requests: int) -> Usage:
    assert usage.requests == requests, usage
    return Usage(usage.input_tokens, usage.output_tokens)


if __name__ == "__main__":
    perform(
        {
            "plain": plain,
            "streamed with usage": streamed_with_usage,
            "tool round trip": tool_round_trip,
            "image input": image_input,
            "refused": refused,
        }
    )
