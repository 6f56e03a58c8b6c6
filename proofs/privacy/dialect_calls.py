"""Calls in dialects beside chat, with a canary in every field: Messages, the count of their tokens, and Responses.

They are made natively, where the vendor speaks the dialect, and translated, where it does not.
"""

import base64
from collections.abc import Iterator

from proofs.privacy.canaries import Canaries
from proofs.privacy.chat_calls import PNG, Fields, Minted
from proofs.privacy.raw_http import Call, json_call

MESSAGES, COUNT, RESPONSES = "/v1/messages", "/v1/messages/count_tokens", "/v1/responses"
# What the provider is to do with the call. WORD is replaced by a canary.
ANSWERS = (
    "echo=true thinking=9",
    "echo=true usage=no chunk_ms=1",
    'status=400 status_text="WORD is wrong" error_code=WORD error_type=WORD',
    'status=429 status_text="WORD too often" error_code=WORD',
    'status=500 status_text="WORD broke" error_code=WORD',
    'echo=true error_at=2 status_text="WORD broke" error_code=WORD',
    "echo=true malformed_at=2",
    "echo=true cut_at=2",
    "echo=true json_garbage=true",
    "leak=error",
    "echo=true leak=content",
    "echo=true leak=headers",
    "echo=true letters=surrogate",
    'error_in_200=true status_text="WORD" error_code=WORD',
)
NAMES_OF_HEADERS = ("anthropic-beta", "anthropic-version", "x-claude-code-session-id")


def message_calls(canaries: Canaries, model: str, key: str, *, streamed: bool) -> Iterator[Call]:
    """Every field and many answers, for one model."""
    word, text = _minting(canaries, f"Messages to {model}, {'streamed' if streamed else 'whole'}")

    def call(where: str, fields: Fields, directions: str = "echo=true") -> Call:
        asked = {"role": "user", "content": f"{text(where)} [[{directions}]]"}
        body: dict[str, object] = {"model": model, "max_tokens": 200, "stream": streamed}
        before = fields.get("before", ())
        body |= {"messages": [*before, asked]} | dict(fields)  # type: ignore[misc]
        body.pop("before", None)
        return json_call(where, MESSAGES, body, key)

    for directions in ANSWERS:
        yield call(f"answer {directions}", {}, directions.replace("WORD", word(directions)))
    for where, fields in _fields_of_messages(word, text):
        yield call(where, fields)
    for name in NAMES_OF_HEADERS:
        good = call(f"header {name}", {})
        yield Call(name=good.name, path=MESSAGES, body=good.body, key=key, headers={name: word(f"header {name}")})


def count_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    word, text = _minting(canaries, f"count of tokens of {model}")
    for where, fields in (("plain", {}), *_fields_of_messages(word, text)):
        asked = {"role": "user", "content": f"{text(where)} [[echo=true]]"}
        body = {"model": model, "messages": [*fields.get("before", ()), asked], **fields}  # type: ignore[misc]
        body.pop("before", None)
        yield json_call(f"count, {where}", COUNT, body, key)
    for directions in ANSWERS[2:5]:
        said = f"{text(directions)} [[{directions.replace('WORD', word(directions))}]]"
        body = {"model": model, "messages": [{"role": "user", "content": said}]}
        yield json_call(f"count, {directions}", COUNT, body, key)


def _fields_of_messages(word: Minted, text: Minted) -> Iterator[tuple[str, Fields]]:
    yield "system", {"system": text("system")}
    yield (
        "blocks of system",
        {"system": [{"type": "text", "text": text("block of system"), "citations": text("cited")}]},
    )
    for role in ("assistant", "system"):
        yield f"{role} message", {"before": [{"role": role, "content": text(f"{role} message")}]}
    for kind, block in _blocks(word, text):
        role = "assistant" if kind in OF_THE_MODEL else "user"
        yield kind, {"before": [{"role": "user", "content": "hello"}, {"role": role, "content": [block]}]}
    yield "tool history", {"before": list(_tool_turns(word, text)), "tools": [_offered(word, text)]}
    yield "tools", {"tools": [_offered(word, text)], "tool_choice": {"type": "tool", "name": word("a choice of tool")}}
    yield "a tool of the vendor", {"tools": [{"type": f"{word('type of a tool')}_20250101", "name": word("its name")}]}
    yield "stop_sequences", {"stop_sequences": [text("stop_sequences")]}
    yield "metadata", {"metadata": {"user_id": text("user_id")}}
    yield "thinking", {"thinking": {"type": "enabled", "budget_tokens": 1_024, "display": word("display of thoughts")}}
    schema = {"type": "object", "properties": {word("property"): {"type": "string", "description": text("property")}}}
    yield "output_config", {"output_config": {"effort": word("effort"), "format": _format(schema)}}
    yield "output_format", {"output_format": _format(schema)}
    yield "context_management", {"context_management": {"edits": [{"type": word("an edit")}]}}
    yield "cache_control", {"cache_control": {"type": "ephemeral", "scope": word("scope of a cache")}}
    for name in ("model", "messages", "max_tokens", "stream", "temperature", "system", "tools", "service_tier"):
        yield f"a wrong {name}", {name: {word(f"a wrong {name}"): text(f"a wrong {name}")}}
    yield "an unknown parameter", {word("an unknown parameter"): text("an unknown parameter")}
    yield "an unknown role", {"before": [{"role": word("an unknown role"), "content": "hello"}]}


OF_THE_MODEL = ("a thought", "a thought without signature", "a hidden thought", "a use of the vendor's tool")


def _blocks(word: Minted, text: Minted) -> Iterator[tuple[str, Fields]]:
    png = base64.b64encode(PNG + text("image").encode()).decode()
    yield "an image", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    address = f"https://example.com/{word('image address')}.png?q={word('query of an image address')}"
    yield "an image by address", {"type": "image", "source": {"type": "url", "url": address}}
    plain = {"type": "text", "media_type": "text/plain", "data": text("document")}
    yield "a document", {"type": "document", "source": plain, "title": text("title"), "context": text("context")}
    found = [{"type": "text", "text": text("search result")}]
    yield "a result", {"type": "search_result", "source": text("source"), "title": text("title"), "content": found}
    yield "a thought", {"type": "thinking", "thinking": text("a thought"), "signature": text("its signature")}
    yield "a thought without signature", {"type": "thinking", "thinking": text("a thought of others")}
    yield "a hidden thought", {"type": "redacted_thinking", "data": text("a hidden thought")}
    used = {"id": word("id of a use"), "name": "web_search", "input": {word("member"): text("input of a use")}}
    yield "a use of the vendor's tool", {"type": "server_tool_use", **used}
    yield "an unknown block", {"type": word("an unknown block"), "text": text("an unknown block")}
    yield "an unknown member", {"type": "text", "text": "hello", word("an unknown member"): text("an unknown member")}


def _tool_turns(word: Minted, text: Minted) -> Iterator[Fields]:
    used, said = word("id of a use"), {word("argument"): text("argument")}
    yield {"role": "user", "content": "hello"}
    call = {"type": "tool_use", "id": used, "name": word("name of a used tool"), "input": said}
    yield {"role": "assistant", "content": [call]}
    result = {"type": "tool_result", "tool_use_id": used, "content": [{"type": "text", "text": text("tool result")}]}
    yield {"role": "user", "content": [result]}


def _offered(word: Minted, text: Minted) -> Fields:
    value = {"type": "string", "description": text("property of a tool"), "enum": [word("one of several")]}
    schema = {"type": "object", "properties": {word("property of a tool"): value}}
    return {"name": word("name of a tool"), "description": text("description of a tool"), "input_schema": schema}


def _format(schema: Fields) -> Fields:
    return {"type": "json_schema", "schema": schema}


def response_calls(canaries: Canaries, model: str, key: str, *, streamed: bool) -> Iterator[Call]:
    word, text = _minting(canaries, f"Responses of {model}, {'streamed' if streamed else 'whole'}")

    def call(where: str, fields: Fields, directions: str = "echo=true") -> Call:
        asked = {"role": "user", "content": f"{text(where)} [[{directions}]]"}
        body: dict[str, object] = {"model": model, "max_output_tokens": 200, "stream": streamed}
        body |= {"input": [*fields.get("before", ()), asked]} | dict(fields)  # type: ignore[misc]
        body.pop("before", None)
        return json_call(where, RESPONSES, body, key)

    yield call("input as a text", {"input": f"{text('input as a text')} [[echo=true]]"})
    for directions in ANSWERS:
        yield call(f"answer {directions}", {}, directions.replace("WORD", word(directions)))
    for where, fields in _fields_of_responses(word, text):
        yield call(where, fields)
    for method in ("GET", "POST", "DELETE"):
        path = f"{RESPONSES}/{word(f'{method} of a stored answer')}"
        yield Call(name=f"{method} of a stored answer", path=path, method=method, key=key)


def _fields_of_responses(word: Minted, text: Minted) -> Iterator[tuple[str, Fields]]:
    yield "instructions", {"instructions": text("instructions")}
    for kind, item in _items(word, text):
        yield kind, {"before": [item]}
    yield "tool history", {"before": list(_tool_items(word, text))}
    function = {"type": "function", **_offered(word, text)}
    function["parameters"] = function.pop("input_schema")
    yield "tools", {"tools": [function], "tool_choice": {"type": "function", "name": word("a choice of tool")}}
    grammar = {"type": "grammar", "syntax": "lark", "definition": text("grammar")}
    custom = {"type": "custom", "name": word("a custom tool"), "description": text("a custom tool"), "format": grammar}
    yield "a custom tool", {"tools": [custom]}
    yield "an unknown tool", {"tools": [{"type": word("an unknown tool"), "name": word("its name")}]}
    schema = {"type": "object", "properties": {word("property"): {"type": "string", "description": text("property")}}}
    form = {"type": "json_schema", "name": word("schema"), "description": text("schema"), "schema": schema}
    yield "text", {"text": {"format": form, "verbosity": word("verbosity")}}
    yield "reasoning", {"reasoning": {"effort": word("effort"), "summary": word("summary")}}
    yield "metadata", {"metadata": {word("metadata"): text("metadata")}, "store": True}
    yield "include", {"include": [word("include")]}
    yield "prompt", {"prompt": {"id": word("id of a prompt"), "variables": {word("variable"): text("variable")}}}
    names = ("user", "safety_identifier", "prompt_cache_key", "previous_response_id", "conversation", "service_tier")
    for name in (*names, "truncation", "top_logprobs", "background", "client_metadata"):
        yield name, {name: word(name)}
    for name in ("model", "input", "max_output_tokens", "stream", "temperature", "instructions", "tools"):
        yield f"a wrong {name}", {name: {word(f"a wrong {name}"): text(f"a wrong {name}")}}
    yield "an unknown parameter", {word("an unknown parameter"): text("an unknown parameter")}


def _items(word: Minted, text: Minted) -> Iterator[tuple[str, Fields]]:
    def said(part: Fields) -> Fields:
        return {"type": "message", "role": "user", "content": [part]}

    for role in ("assistant", "system", "developer"):
        yield f"{role} message", {"role": role, "content": text(f"{role} message")}
    png = base64.b64encode(PNG + text("image").encode()).decode()
    yield "an image", said({"type": "input_image", "image_url": f"data:image/png;base64,{png}"})
    address = f"https://example.com/{word('image address')}.png?q={word('query of an image address')}"
    yield "an image by address", said({"type": "input_image", "image_url": address, "detail": word("detail")})
    data = base64.b64encode(b"%PDF" + text("file").encode()).decode()
    file = {"filename": word("file name") + ".pdf", "file_data": f"data:application/pdf;base64,{data}"}
    yield "a file", said({"type": "input_file", **file})
    yield "a file by id", said({"type": "input_file", "file_id": word("file id")})
    sealed = {"id": word("id of a thought"), "encrypted_content": text("a sealed thought")}
    yield "a thought", {"type": "reasoning", **sealed, "summary": [{"type": "summary_text", "text": text("summary")}]}
    shell = {"call_id": word("call of a shell"), "output": text("output of a shell")}
    yield "an output of a shell", {"type": "local_shell_call_output", **shell}
    yield "a search", {"type": "web_search_call", "id": word("a search"), "action": {"query": text("a search")}}
    yield "a reference", {"type": "item_reference", "id": word("a reference")}
    yield "an unknown item", {"type": word("an unknown item"), "text": text("an unknown item")}
    yield "an unknown part", said({"type": word("an unknown part"), "text": text("an unknown part")})
    yield "an unknown member", {"role": "user", "content": "hello", word("member"): text("an unknown member")}
    yield "an unknown role", {"role": word("an unknown role"), "content": text("an unknown role")}


def _tool_items(word: Minted, text: Minted) -> Iterator[Fields]:
    called, own = word("id of a call"), word("id of a custom call")
    arguments = f'{{"a": "{word("arguments")}"}}'
    yield {"type": "function_call", "call_id": called, "name": word("a called tool"), "arguments": arguments}
    yield {"type": "function_call_output", "call_id": called, "output": text("tool result")}
    yield {"type": "custom_tool_call", "call_id": own, "name": word("a custom tool"), "input": text("custom input")}
    yield {"type": "custom_tool_call_output", "call_id": own, "output": text("custom result")}


def _minting(canaries: Canaries, manner: str) -> tuple[Minted, Minted]:
    """Makers of words and of texts, which say of each where it is put."""

    def word(where: str) -> str:
        return canaries.word(f"{where}, {manner}")

    def text(where: str) -> str:
        return canaries.text(f"{where}, {manner}")

    return word, text
