"""Chat calls with a canary in every field, and answers that say canaries: each stands in a call of its own, so that one
that is refused hides none of the others."""

import base64
from collections.abc import Callable, Iterator, Mapping

from proofs.privacy.canaries import Canaries
from proofs.privacy.raw_http import Call, json_call

PATH = "/v1/chat/completions"
Fields = Mapping[str, object]
# Makes a canary for a place.
Minted = Callable[[str], str]
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")
# What the provider is to do with the call. WORD is replaced by a canary.
ANSWERS = (
    "echo=true",
    "echo=true thinking=9",
    "echo=true usage=no chunk_ms=1",
    "echo=true usage=string",
    "echo=true safety=true",
    'status=400 status_text="WORD is wrong" error_code=WORD error_type=WORD',
    'status=404 status_text="WORD is not there" error_code=WORD',
    'status=422 status_text="WORD" error_type=WORD',
    'status=429 status_text="WORD too often" error_code=WORD',
    'status=500 status_text="WORD broke" error_code=WORD',
    'echo=true error_at=2 status_text="WORD broke" error_code=WORD',
    "echo=true malformed_at=2",
    "echo=true cut_at=2",
    "echo=true half_close_at=2",
    "echo=true no_done=true",
    "echo=true no_finish=true",
    "echo=true wrong_length=true",
    "echo=true json_garbage=true",
    "redirect=http://127.0.0.1:9/WORD?q=WORD",
    "echo=true leak=content",
    "leak=error",
    "leak=code",
    "leak=type",
    "leak=param",
    "echo=true leak=headers",
    "echo=true letters=nul",
    "echo=true letters=invalid_utf8",
    "echo=true letters=surrogate",
    "echo=true framing=bad_size",
    "echo=true told_twice=true",
    'raw_status=599 status_text="WORD"',
    'error_in_200=true status_text="WORD" error_code=WORD',
)


def chat_calls(canaries: Canaries, model: str, key: str, *, streamed: bool) -> Iterator[Call]:
    """Every field and every answer, for one model."""
    manner = f"{model}, {'streamed' if streamed else 'whole'}"

    def call(where: str, fields: Fields, directions: str = "echo=true") -> Call:
        asked = {"role": "user", "content": f"{canaries.text(f'{where}, {manner}')} [[{directions}]]"}
        body: dict[str, object] = {"model": model, "messages": [asked], "max_tokens": 200, "stream": streamed}
        body |= fields
        if (before := body.pop("before", None)) is not None:
            body["messages"] = [*before, asked]  # type: ignore[misc]
        return json_call(f"{where}, {manner}", PATH, body, key)

    for directions in ANSWERS:
        yield call(f"answer {directions}", {}, directions.replace("WORD", canaries.word(f"{directions}, {manner}")))
    for where, fields in _fields(canaries, manner):
        yield call(where, fields)
    yield call("a tool that is called", {"tools": [_tool(canaries, manner)]}, "tokens=9 thinking=5")


def _fields(canaries: Canaries, manner: str) -> Iterator[tuple[str, Fields]]:
    def word(where: str) -> str:
        return canaries.word(f"{where}, {manner}")

    def text(where: str) -> str:
        return canaries.text(f"{where}, {manner}")

    for role in ("system", "developer", "assistant"):
        yield f"{role} message", {"before": [{"role": role, "content": text(f"{role} message")}]}
    yield "names", {"before": [{"role": "user", "content": "hello", "name": word("name of a speaker")}]}
    yield "tool history", {"before": list(_tool_history(word, text)), "tools": [_tool(canaries, manner)]}
    yield "thoughts sent back", {"before": list(_thoughts(text))}
    for kind, part in _parts(word, text):
        yield kind, {"before": [{"role": "user", "content": [part]}]}
    yield "tools", {"tools": [_tool(canaries, manner)], "tool_choice": "none"}
    named = {"type": "function", "function": {"name": word("a choice of tool")}}
    yield "a choice of tool", {"tools": [_tool(canaries, manner)], "tool_choice": named}
    yield "old functions", {"functions": [_function(canaries, manner)], "function_call": {"name": word("old function")}}
    schema = {"name": word("schema"), "description": text("schema"), "schema": _schema(word, text)}
    yield "response_format", {"response_format": {"type": "json_schema", "json_schema": schema}}
    yield "stop", {"stop": [text("stop")]}
    yield "logit_bias", {"logit_bias": {word("logit_bias"): 1}}
    yield "metadata", {"metadata": {word("metadata"): text("metadata")}, "store": True}
    yield "prediction", {"prediction": {"type": "content", "content": text("prediction")}}
    yield "thinking", {"thinking": {"type": word("thinking"), "budget_tokens": 1_024}}
    yield "stream_options", {"stream_options": {word("stream option"): True}}
    yield "web_search_options", {"web_search_options": {"user_location": {"city": text("web_search_options")}}}
    for name in ("user", "safety_identifier", "prompt_cache_key", "reasoning_effort", "verbosity", "service_tier"):
        yield name, {name: word(name)}
    for name in ("model", "messages", "max_tokens", "temperature", "stream", "n", "seed", "tools", "tool_choice"):
        yield f"a wrong {name}", {name: text(f"a wrong {name}")}
    yield "an unknown parameter", {word("an unknown parameter"): text("an unknown parameter")}
    yield "an unknown member", {"before": [{"role": "user", "content": "hello", word("member"): text("member")}]}
    yield "an unknown role", {"before": [{"role": word("an unknown role"), "content": "hello"}]}
    yield "an unknown part", {"before": [{"role": "user", "content": [{"type": word("an unknown part")}]}]}


def _parts(word: Minted, text: Minted) -> Iterator[tuple[str, Fields]]:
    png, clear = _data(PNG + text("image").encode()), text("file").encode()
    yield "an image", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}", "detail": "low"}}
    address = f"https://example.com/{word('image address')}.png?q={word('query of an image address')}"
    yield "an image by address", {"type": "image_url", "image_url": {"url": address}}
    yield "a wrong image", {"type": "image_url", "image_url": {"url": text("a wrong image"), "detail": word("detail")}}
    file = {
        "filename": word("file name") + ".pdf",
        "file_data": f"data:application/pdf;base64,{_data(b'%PDF' + clear)}",
    }
    yield "a file", {"type": "file", "file": file}
    yield "a file by id", {"type": "file", "file": {"file_id": word("file id")}}
    sound = {"data": _data(text("sound").encode()), "format": "wav"}
    yield "a sound", {"type": "input_audio", "input_audio": sound}
    yield "a sound of another format", {"type": "input_audio", "input_audio": sound | {"format": word("format")}}


def _tool_history(word: Minted, text: Minted) -> Iterator[Fields]:
    called = word("id of a tool call")
    function = {"name": word("name of a called tool"), "arguments": f'{{"a": "{word("arguments")}"}}'}
    yield {"role": "user", "content": "hello"}
    yield {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": called, "type": "function", "function": function}],
    }
    yield {"role": "tool", "tool_call_id": called, "content": text("tool result")}


def _thoughts(text: Minted) -> Iterator[Fields]:
    block = {"type": "thinking", "thinking": text("a thought"), "signature": text("its signature")}
    yield {"role": "user", "content": "hello"}
    yield {
        "role": "assistant",
        "content": "hello",
        "reasoning_content": text("reasoning_content"),
        "refusal": text("refusal"),
        "thinking_blocks": [block],
    }


def _tool(canaries: Canaries, manner: str) -> Fields:
    return {"type": "function", "function": _function(canaries, manner)}


def _function(canaries: Canaries, manner: str) -> Fields:
    def word(where: str) -> str:
        return canaries.word(f"{where}, {manner}")

    def text(where: str) -> str:
        return canaries.text(f"{where}, {manner}")

    described = text("description of a tool")
    return {"name": word("name of a tool"), "description": described, "parameters": _schema(word, text)}


def _schema(word: Minted, text: Minted) -> Fields:
    name = word("property")
    value = {"type": "string", "description": text("property"), "enum": [word("one of several")]}
    return {"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": False}


def _data(content: bytes) -> str:
    return base64.b64encode(content).decode()
