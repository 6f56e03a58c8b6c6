"""Items of a provider's own stream of a response, kept for an end that comes before the provider's.

Rules of this file
1. Nothing is kept but where a stream may be ended early: its last event repeats what was said.
2. What is done is repeated as it came. What is open is closed as incomplete, with as much of it as was sent.
3. It never raises on what a provider could send, and keeps no more than any model says.
"""

from collections.abc import Iterator

from tollkeeper.core.calls.loosely import NOT_READ, JsonObject, a_text, an_object, decode
from tollkeeper.core.dialects.responses.events import KEPT_CHARACTERS_MOST, event_of

ADDED, DONE = b"response.output_item.added", b"response.output_item.done"
# Events by which an item grows.
GROWING = frozenset({b"response.output_text.delta", b"response.function_call_arguments.delta"})
KEPT = GROWING | {ADDED, DONE}
# Of one response.
ITEMS_MOST = 1_024


class KeptItems:
    def __init__(self) -> None:
        # By their place in the output.
        self._done: dict[int, JsonObject] = {}
        self._open: dict[int, JsonObject] = {}
        # What was sent of those that are open, by the place of the item and of the part in it.
        self._pieces: dict[tuple[int, int], list[str]] = {}
        self._kept_characters = 0

    def note(self, kind: bytes, data: bytes) -> None:
        if kind not in KEPT or self._kept_characters + len(data) > KEPT_CHARACTERS_MOST:
            return
        try:
            event = an_object(decode(data))
        except NOT_READ:
            return
        place = event.get("output_index")
        if not isinstance(place, int) or len(self._done) + len(self._open) >= ITEMS_MOST:
            return
        self._kept_characters += len(data)
        if kind == ADDED:
            self._open[place] = an_object(event.get("item"))
        elif kind == DONE:
            self._open.pop(place, None)
            self._done[place] = an_object(event.get("item"))
        else:
            part = event.get("content_index")
            pieces = self._pieces.setdefault((place, part if isinstance(part, int) else 0), [])
            pieces.append(a_text(event.get("delta")))

    def close(self, number: int) -> tuple[list[bytes], list[JsonObject]]:
        """Events that end what is open, from `number` on; and all of the output."""
        events: list[bytes] = []
        for place, item in sorted(self._open.items()):
            ended = self._ended(place, item)
            for kind, members in self._endings(place, ended):
                events.append(event_of(kind, number + len(events), output_index=place, **members))
            self._done[place] = ended
        self._open = {}
        return events, [item for _, item in sorted(self._done.items())]

    def _ended(self, place: int, item: JsonObject) -> JsonObject:
        said = {part: "".join(pieces) for (at, part), pieces in sorted(self._pieces.items()) if at == place}
        ended = item | {"status": "incomplete"}
        if item.get("type") == "message":
            ended["content"] = [{"type": "output_text", "text": text, "annotations": []} for text in said.values()]
        elif item.get("type") == "function_call":
            ended["arguments"] = "".join(said.values())
        return ended

    def _endings(self, place: int, ended: JsonObject) -> Iterator[tuple[str, JsonObject]]:
        if ended.get("type") == "message":
            parts = sorted(part for at, part in self._pieces if at == place)
            for at, part in zip(parts, ended["content"], strict=True):
                where: JsonObject = {"item_id": a_text(ended.get("id")), "content_index": at}
                yield "response.output_text.done", where | {"text": part["text"], "logprobs": []}
                yield "response.content_part.done", where | {"part": part}
        yield "response.output_item.done", {"item": ended}
