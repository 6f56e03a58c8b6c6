"""`llama-index-llms-openai`, and its `-like` for other vendors' models: each check as a caller would write it."""

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool, ToolSelection
from llama_index.core.tools.calling import call_tool_with_selection
from llama_index.llms.openai import OpenAI
from llama_index.llms.openai.utils import ALL_AVAILABLE_MODELS
from llama_index.llms.openai_like import OpenAILike

from proofs.rig.sdks.refusals import refusal_of
from proofs.rig.sdks.stage import CITY, PICTURE, Act, Usage, perform, weather

CONTEXT_TOKENS = 128_000
TOOL = FunctionTool.from_defaults(weather, name="get_weather")


def plain(act: Act) -> Usage:
    answer = model(act).chat([question(act)])
    check_words(answer)
    return usage_of(answer)


def streamed_with_usage(act: Act) -> Usage:
    asking = model(act, additional_kwargs={"stream_options": {"include_usage": True}})
    *pieces, last = asking.stream_chat([question(act)])
    assert "".join(piece.delta for piece in pieces)
    assert pieces[-1].raw.choices[0].finish_reason == "stop"
    return usage_of(last)


def tool_round_trip(act: Act) -> Usage:
    asking = model(act)
    history = [question(act)]
    first = asking.chat_with_tools([TOOL], chat_history=history)
    call = check_call(first, asking)
    result = call_tool_with_selection(call, [TOOL])
    answer_of_tool = ChatMessage(role="tool", content=result.content, additional_kwargs={"tool_call_id": call.tool_id})
    last = asking.chat_with_tools([TOOL], chat_history=[*history, first.message, answer_of_tool])
    check_words(last)
    return usage_of(first) + usage_of(last)


def image_input(act: Act) -> Usage:
    blocks = [TextBlock(text=act.prompt), ImageBlock(url=PICTURE)]
    answer = model(act).chat([ChatMessage(role="user", blocks=blocks)])
    check_words(answer)
    return usage_of(answer)


def refused(act: Act) -> object:
    return refusal_of(act, plain)


def model(act: Act, **more: object) -> OpenAI:
    known = act.model in ALL_AVAILABLE_MODELS
    # `OpenAI` looks up what it must know of a model by its name; `OpenAILike` is told.
    told = {} if known else {"context_window": CONTEXT_TOKENS, "is_chat_model": True, "is_function_calling_model": True}
    return (OpenAI if known else OpenAILike)(api_base=act.base, api_key=act.key, model=act.model, **told, **more)


def question(act: Act) -> ChatMessage:
    return ChatMessage(role="user", content=act.prompt)


def check_words(answer: ChatResponse) -> None:
    assert answer.message.content
    assert answer.raw.choices[0].finish_reason == "stop"


def check_call(answer: ChatResponse, asked: OpenAI) -> ToolSelection:
    (call,) = asked.get_tool_calls_from_response(answer)
    assert answer.raw.choices[0].finish_reason == "tool_calls"
    assert (call.tool_name, call.tool_kwargs) == ("get_weather", {"city": CITY}), call
    return call


def usage_of(answer: ChatResponse) -> Usage:
    told = answer.additional_kwargs
    assert told["total_tokens"] == told["prompt_tokens"] + told["completion_tokens"], told
    return Usage(told["prompt_tokens"], told["completion_tokens"])


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
