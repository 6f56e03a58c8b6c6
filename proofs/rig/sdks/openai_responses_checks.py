"""Responses and embeddings with the `openai` package from PyPI, as a caller would write them."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from openai import OpenAI
from openai.types.responses import Response

from proofs.rig.sdks.refusals import refusal_of
from proofs.rig.sdks.stage import CITY, PICTURE, WEATHER, Act, Check, Usage, weather

TOOL = {"type": "function", "name": "get_weather", "strict": False, "parameters": WEATHER}
# Of a vector, where nothing is said.
DIMENSIONS = 8

Manner = Callable[[Act, Sequence[Any]], Response]


def client(act: Act) -> OpenAI:
    return OpenAI(base_url=act.base, api_key=act.key)


def whole(act: Act, items: Sequence[Any]) -> Response:
    asked: dict[str, Any] = {"model": act.model, "input": items, **act.more}
    answer: Response = client(act).responses.create(**asked)
    return answer


def streamed(act: Act, items: Sequence[Any]) -> Response:
    asked: dict[str, Any] = {"model": act.model, "input": items, **act.more}
    words = ""
    with client(act).responses.stream(**asked) as stream:
        for event in stream:
            words += event.delta if event.type == "response.output_text.delta" else ""
        answer: Response = stream.get_final_response()
    assert words == answer.output_text, (words, answer)
    return answer


def words(manner: Manner, act: Act) -> Usage:
    return usage_of(spoken(manner(act, [{"role": "user", "content": act.prompt}]), ["message"]))


def thoughts(manner: Manner, act: Act) -> Usage:
    answer = manner(act, [{"role": "user", "content": act.prompt}])
    assert getattr(answer.output[0], "summary", None), answer
    return usage_of(spoken(answer, ["reasoning", "message"]))


def picture(manner: Manner, act: Act) -> Usage:
    parts = [{"type": "input_image", "image_url": PICTURE}, {"type": "input_text", "text": act.prompt}]
    return usage_of(spoken(manner(act, [{"role": "user", "content": parts}]), ["message"]))


def tool_round_trip(manner: Manner, act: Act) -> Usage:
    act.more["tools"] = [TOOL]
    items: list[Any] = [{"role": "user", "content": act.prompt}]
    first = manner(act, items)
    (call,) = [item for item in first.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": CITY}), call
    items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
    result = weather(**json.loads(call.arguments))
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    return usage_of(first) + usage_of(spoken(manner(act, items), ["message"]))


def refused(manner: Manner, act: Act) -> object:
    return refusal_of(act, partial(words, manner))


def spoken(answer: Response, items: Sequence[str]) -> Response:
    """The answer, whose words have come to their end; its items are of these types."""
    assert answer.output_text, answer
    assert [item.type for item in answer.output] == items, answer
    assert answer.status == "completed", answer
    return answer


def usage_of(answer: Response) -> Usage:
    usage = answer.usage
    assert usage is not None
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens, usage
    parts = usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens
    return Usage(usage.input_tokens, usage.output_tokens, parts)


def embedding(act: Act) -> Usage:
    asked: dict[str, Any] = {"input": act.prompt, **act.more}
    answer = client(act).embeddings.create(model=act.model, **asked)
    inputs = asked["input"] if isinstance(asked["input"], list) else [act.prompt]
    assert [each.index for each in answer.data] == list(range(len(inputs)))
    assert {len(each.embedding) for each in answer.data} == {asked.get("dimensions", DIMENSIONS)}
    assert answer.model == act.model, answer.model
    assert answer.usage.total_tokens == answer.usage.prompt_tokens
    return Usage(answer.usage.prompt_tokens, 0)


MANNERS: dict[str, Manner] = {"whole": whole, "streamed": streamed}
CHECKS: dict[str, Callable[[Manner, Act], object]] = {
    "words": words,
    "thoughts": thoughts,
    "picture": picture,
    "tool round trip": tool_round_trip,
    "refused": refused,
}
RESPONSES_CHECKS: dict[str, Check] = {
    f"responses: {name}: {manner}": partial(check, hearing)
    for name, check in CHECKS.items()
    for manner, hearing in MANNERS.items()
} | {"embedding": embedding}
