"""From the items of a Responses order to the messages of chat.

Rules of this file
1. The calls of one turn and what was said with them are one message of chat. Their results follow it at once; what came
   in between follows the results.
2. Chat's results are texts: pictures and files of a result follow as a message of the user's.
3. Thoughts are the model's own and sealed by its vendor: they pass to an account that speaks this protocol, and are
   left out for others. So is what a vendor's tool has done. Thoughts that nobody has sealed are another vendor's, and
   were sent to the caller by us: they pass to nobody, for a provider that stores nothing does not know them.
4. Nothing refers to what a provider has stored.
"""

from collections.abc import Sequence
from itertools import chain

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.chat_form import (
    MEDIA,
    WANTED_OF_FILES,
    CheckedFile,
    CheckedImageUrl,
    CheckedPart,
    check_media,
)
from tollkeeper.core.calls.loosely import JsonObject
from tollkeeper.core.dialects.responses.form import (
    ITEM_NAMES,
    NOTHING,
    WANTED_OF_CONTENT,
    WANTED_OF_ITEMS,
    InputItem,
    InputPart,
    decode_anything,
    decode_at,
    decode_file,
    decode_image,
    decode_item,
    decode_members,
    decode_part,
    decode_sound,
    decode_text,
)
from tollkeeper.core.dialects.responses.tools import INPUT, check_own, flat_name
from tollkeeper.core.errors import InvalidParameter, UnsupportedParameter

# Instructions of either role: every chat provider knows the older one.
ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
TEXTS = frozenset({"input_text", "output_text", "text", "summary_text"})
# What a vendor's tool has done: its own account of it passes natively, and chat does without.
DONE_THERE = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "mcp_list_tools"})
# What only the vendor's own protocol can say.
ONLY_NATIVE = frozenset(
    {
        *("local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call"),
        *("apply_patch_call_output", "compaction", "tool_search_call"),
    }
)
TOOLS_ELSEWHERE = "tools are told in tools, where each has its price; leave this item out, and name its tools there"
NOT_STORED = "nothing is stored here that an id could refer to; send the item itself"
# Of sealed thoughts, and of what a vendor's tools have said, so many characters are a token, or more.
SEALED_CHARACTERS_PER_TOKEN = 5
SEE_BELOW = "The result is in the next message."


class ReadInput(msgspec.Struct, kw_only=True):
    """An input as chat has it, and what chat has not."""

    messages: list[JsonObject] = []
    # The most that what only a native account reads may come to; and the place of what no other could do without.
    untranslated_tokens: int = 0
    only_here: str = ""
    # Items that pass to nobody, by their place.
    left_out: set[int] = set()


class InputReader:
    """Takes the items one by one."""

    def __init__(self) -> None:
        self.read = ReadInput()
        # Calls whose results have not come, and what must wait until they have.
        self._unanswered: set[str] = set()
        self._waiting: list[JsonObject] = []
        # Messages with calls, and all that was said with each: put together once, at the end.
        self._said: list[tuple[JsonObject, list[str | list[JsonObject]]]] = []

    def add(self, raw: Raw, index: int) -> None:
        place = f"input[{index}]"
        item = decode_at(decode_item, raw, place, WANTED_OF_ITEMS)
        _check_names(raw, place)
        kind = item.type or ("message" if item.role else "item_reference")
        if kind == "message":
            self._add_message(item, place)
        elif kind in {"function_call", "custom_tool_call"}:
            self._add_call(item, place)
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            self._add_result(item, place)
        elif kind == "reasoning":
            self._add_thoughts(item, raw, index)
        elif kind in DONE_THERE or kind in ONLY_NATIVE:
            self._keep_native(raw, kind, place)
        elif kind == "tool_search_output":
            raise UnsupportedParameter(place, TOOLS_ELSEWHERE)
        elif kind == "item_reference":
            raise UnsupportedParameter(place, NOT_STORED)
        else:
            raise UnsupportedParameter(f"{place}.type", f"items of the type {kind[:64]} are not known here")

    def end(self) -> ReadInput:
        for message, pieces in self._said:
            message["content"] = _joined(pieces)
        self.read.messages += self._waiting
        self._said, self._waiting = [], []
        return self.read

    def _add_message(self, item: InputItem, place: str) -> None:
        role = ROLES.get(item.role or "")
        if role is None:
            raise InvalidParameter(f"{place}.role", "must be user, assistant, system or developer")
        if item.content is None:
            raise InvalidParameter(f"{place}.content", "must be a text, or an array of parts")
        content = item.content if isinstance(item.content, str) else parts_of(item.content, f"{place}.content")
        last = self.read.messages[-1] if self.read.messages else None
        if role == "assistant" and last is not None and last["role"] == "assistant" and "tool_calls" in last:
            if not self._said or self._said[-1][0] is not last:
                self._said.append((last, [last["content"] or ""]))
            self._said[-1][1].append(content)
        elif self._unanswered:
            self._waiting.append({"role": role, "content": content})
        else:
            self.read.messages.append({"role": role, "content": content})

    def _add_call(self, item: InputItem, place: str) -> None:
        if not item.call_id or not item.name:
            raise InvalidParameter(f"{place}.call_id", "must be the id of the call, and its name beside it")
        arguments = item.arguments or ""
        if item.type == "custom_tool_call":
            said = decode_at(decode_text, item.input, f"{place}.input", "must be a text")
            arguments = msgspec.json.encode({INPUT: said}).decode()
        function = {"name": flat_name(item.name, item.namespace), "arguments": arguments}
        call = {"id": item.call_id, "type": "function", "function": function}
        last = self.read.messages[-1] if self.read.messages else None
        if last is None or last["role"] != "assistant":
            last = {"role": "assistant", "content": None}
            self.read.messages.append(last)
        last.setdefault("tool_calls", []).append(call)
        self._unanswered.add(item.call_id)

    def _add_result(self, item: InputItem, place: str) -> None:
        if not item.call_id:
            raise InvalidParameter(f"{place}.call_id", "must be the id of the call that it answers")
        text, media = _result(item.output, f"{place}.output")
        self.read.messages.append({"role": "tool", "tool_call_id": item.call_id, "content": text})
        if media:
            self._waiting.append({"role": "user", "content": media})
        self._unanswered.discard(item.call_id)
        if not self._unanswered:
            self.end()

    def _add_thoughts(self, item: InputItem, raw: Raw, index: int) -> None:
        """Held for by their size: what they come to only their vendor knows."""
        if item.encrypted_content:
            self._note_untranslated(raw)
        else:
            self.read.left_out.add(index)

    def _keep_native(self, raw: Raw, kind: str, place: str) -> None:
        check_own(decode_at(decode_anything, raw, place, WANTED_OF_ITEMS), place)
        self._note_untranslated(raw)
        if kind in ONLY_NATIVE:
            self.read.only_here = self.read.only_here or place

    def _note_untranslated(self, raw: Raw) -> None:
        self.read.untranslated_tokens += -(-len(memoryview(raw)) // SEALED_CHARACTERS_PER_TOKEN)


def parts_of(parts: Sequence[Raw], place: str) -> str | list[JsonObject]:
    """The content of a message: a text where it has one part that is text."""
    content = [_part(raw, f"{place}[{at}]") for at, raw in enumerate(parts)]
    if len(content) == 1 and content[0]["type"] == "text":
        text: str = content[0]["text"]
        return text
    return content


def _part(raw: Raw, place: str) -> JsonObject:
    part = decode_at(decode_part, raw, place, WANTED_OF_CONTENT)
    if part.type in TEXTS and part.text is not None:
        return {"type": "text", "text": part.text}
    if part.type == "refusal" and part.refusal is not None:
        return {"type": "refusal", "refusal": part.refusal}
    return _medium(part, raw, place)


def _medium(part: InputPart, raw: Raw, place: str) -> JsonObject:
    if part.type == "input_image":
        image = decode_at(decode_image, raw, place, WANTED_OF_CONTENT)
        _check(CheckedPart("image_url", image_url=CheckedImageUrl(image.image_url)), f"{place}.image_url")
        fields: JsonObject = {"url": image.image_url}
        return {"type": "image_url", "image_url": fields | ({"detail": image.detail} if image.detail else {})}
    if part.type == "input_file":
        file = decode_at(decode_file, raw, place, WANTED_OF_FILES)
        if file.file_data == NOTHING:
            raise InvalidParameter(f"{place}.file_data", WANTED_OF_FILES)
        _check(CheckedPart("file", file=CheckedFile(file.file_data)), f"{place}.file_data")
        fields = {"file_data": file.file_data}
        return {"type": "file", "file": fields | ({"filename": file.filename} if file.filename else {})}
    if part.type == "input_audio":
        sound = decode_at(decode_sound, raw, place, WANTED_OF_CONTENT).input_audio
        _check(CheckedPart("input_audio", input_audio=sound), f"{place}.input_audio.data")
        return {"type": "input_audio", "input_audio": {"data": sound.data, "format": sound.format}}
    raise InvalidParameter(place, WANTED_OF_CONTENT)


def _check(part: CheckedPart, place: str) -> None:
    try:
        check_media([part], place)
    except InvalidParameter:
        raise InvalidParameter(place, MEDIA[part.type][1]) from None


def _result(output: Raw, place: str) -> tuple[str, list[JsonObject]]:
    """The text of a tool's result, and its pictures and files."""
    if bytes(output)[:1] != b"[":
        return decode_at(decode_text, output, place, "must be a text, or an array of parts"), []
    each = decode_at(msgspec.json.Decoder(list[Raw]).decode, output, place, WANTED_OF_CONTENT)
    content = [_part(raw, f"{place}[{at}]") for at, raw in enumerate(each)]
    texts = [part["text"] for part in content if part["type"] == "text"]
    media = [part for part in content if part["type"] not in {"text", "refusal"}]
    return "\n".join(texts) or (SEE_BELOW if media else ""), media


def _joined(pieces: Sequence[str | list[JsonObject]]) -> str | list[JsonObject]:
    said = [piece for piece in pieces if piece]
    texts = [piece for piece in said if isinstance(piece, str)]
    if len(texts) == len(said):
        return "\n".join(texts)
    as_parts = ([{"type": "text", "text": piece}] if isinstance(piece, str) else piece for piece in said)
    return list(chain.from_iterable(as_parts))


def _check_names(raw: Raw, place: str) -> None:
    """A provider may read `Content` as `content`."""
    for name in decode_members(raw):
        if name not in ITEM_NAMES and name.casefold() in ITEM_NAMES:
            raise UnsupportedParameter(f"{place}.{name}", "members are written in small letters")
