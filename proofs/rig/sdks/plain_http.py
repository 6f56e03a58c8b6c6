"""A caller without an SDK: what it sends is what it says, and it looks at every event of a stream."""

import json
import urllib.request
from typing import Any

import msgspec

from proofs.rig.patience import patience

SECONDS_MOST = 30

Json = dict[str, Any]


class Heard(msgspec.Struct, kw_only=True):
    """An answer, whole or put together from its events."""

    content: str = ""
    thoughts: str = ""
    # Each with its name and its arguments as they came.
    tool_calls: list[tuple[str, str]] = []
    finish_reason: str | None = None
    usage: Json | None = None


def ask(base: str, key: str, order: Json) -> Heard:
    """Call for one answer; whatever the protocol does not allow is an AssertionError."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{base}/chat/completions", json.dumps(order).encode(), headers)
    with urllib.request.urlopen(request, timeout=patience(SECONDS_MOST)) as answer:
        body = answer.read()
    return heard_events(body) if order.get("stream") else heard_whole(json.loads(body))


def heard_whole(answer: Json) -> Heard:
    assert answer["object"] == "chat.completion", answer
    (choice,) = answer["choices"]
    message = choice["message"]
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    return Heard(
        content=message["content"] or "",
        thoughts=message.get("reasoning_content") or "",
        tool_calls=[(function["name"], function["arguments"]) for function in functions],
        finish_reason=choice["finish_reason"],
        usage=answer["usage"],
    )


def heard_events(body: bytes) -> Heard:
    *events, done, rest = body.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", ""), done
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1, "one answer with several ids"
    heard = Heard()
    for chunk in chunks:
        assert heard.usage is None, "something came after the usage"
        heard.usage = chunk.get("usage")
        assert bool(chunk["choices"]) is (heard.usage is None), chunk
        for choice in chunk["choices"]:
            assert heard.finish_reason is None, "something came after the reason to end"
            heard.finish_reason = choice["finish_reason"]
            listen(heard, choice["delta"])
    return heard


def listen(heard: Heard, delta: Json) -> None:
    heard.content += delta.get("content") or ""
    heard.thoughts += delta.get("reasoning_content") or ""
    for call in delta.get("tool_calls") or ():
        function = call["function"]
        if call["index"] == len(heard.tool_calls):
            assert call["id"]
            heard.tool_calls.append((function["name"], ""))
        name, arguments = heard.tool_calls[call["index"]]
        heard.tool_calls[call["index"]] = (name, arguments + function.get("arguments", ""))
