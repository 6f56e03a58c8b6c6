"""What stands beside the choices of a stream's chunks, chunk after chunk: how much of it is new.

Rules of this file
1. What stands on every chunk of a choice alike is told once: its label is no output at all, a remark is output once.
2. A label that changes is none. Then its first text counts as well as the others.
3. Each choice is looked at by itself: what is made for several of them is made several times.
4. What stands on a chunk without choices may be said for any of them, so the same again counts again.
"""

from collections.abc import Iterable, Iterator

from tollkeeper.core.calls.answer_forms import Label, ReceivedToolCall
from tollkeeper.core.calls.chat import CHOICES_MOST

# In place of the index of a choice, on a chunk that has none.
NO_CHOICE = -1
# Calls of tools in one answer whose ids are known for ids.
CALLS_MOST = 256


class RepeatedTexts:
    """What stood last beside one choice."""

    __slots__ = ("_changing", "label", "remark")

    def __init__(self, label: Label, changing: Iterable[int] = ()) -> None:
        self.label = label
        self.remark = ""
        # Places in the label whose text has changed: their first text is counted.
        self._changing = set(changing)

    def as_known_now(self) -> "RepeatedTexts":
        """Another that knows the same label, and how much of it is counted."""
        return RepeatedTexts(self.label, self._changing)

    def news(self, remark: str, label: Label, *, again: bool) -> str:
        """What was not here before. `again`: a remark counts even if it is the same."""
        new = remark if again or remark != self.remark else ""
        self.remark = remark
        if label != self.label:
            new += "".join(self._changed(label))
            self.label = tuple(now or then for now, then in zip(label, self.label, strict=True))
        return new

    def _changed(self, label: Label) -> Iterator[str]:
        for place, (now, then) in enumerate(zip(label, self.label, strict=True)):
            if not now or now == then:
                continue
            if then and place not in self._changing:
                yield then
            self._changing.add(place)
            yield now


class RepeatedByChoice:
    """The same by choice. Those that nobody could have asked for are taken for one."""

    __slots__ = ("_by_index", "_last", "label")

    def __init__(self) -> None:
        self._by_index: dict[int, RepeatedTexts] = {}
        self._last: RepeatedTexts | None = None
        # The last one, of whichever choice. Every chunk is compared with it.
        self.label: Label | None = None

    def news(self, index: int, remark: str, label: Label) -> str:
        """What was not here before, beside the choice of this index."""
        if not NO_CHOICE <= index < CHOICES_MOST:
            index = CHOICES_MOST
        last = self._by_index.get(index)
        if last is None:
            known = self._last if index == NO_CHOICE else None
            last = self._by_index[index] = RepeatedTexts(label) if known is None else known.as_known_now()
        elif remark == last.remark and label == last.label and index != NO_CHOICE:
            return ""
        new = last.news(remark, label, again=index == NO_CHOICE)
        self._last, self.label = last, last.label
        return new


class RepeatedMessages:
    """Whole messages that stand beside deltas, and say again what those said."""

    __slots__ = ("_characters",)

    def __init__(self) -> None:
        # By choice, how long the longest was.
        self._characters: dict[int, int] = {}

    def news(self, index: int, text: str, told: str) -> str:
        """What of a message was not told before, nor is in the text of the delta beside it."""
        known = self._characters.get(index, 0)
        self._characters[index] = max(known, len(told))
        return told[known:][len(text) :]


class RepeatedCalls:
    """A call of a tool has one id and one name, at its beginning or on each of its parts. Others are texts."""

    __slots__ = ("_labels",)

    def __init__(self) -> None:
        # Ids and names, by choice and the call's own index.
        self._labels: dict[tuple[int, int], tuple[str, str]] = {}

    def news(self, place: tuple[int, int], call: ReceivedToolCall) -> tuple[str, str]:
        """What was not here before: text of the call, and text of a form that we do not know."""
        id_, name = call.id or "", call.name
        known = self._labels.get(place)
        if known is None and len(self._labels) < CALLS_MOST:
            self._labels[place] = id_, name
            return name + call.text, ""
        known_id, known_name = known or ("", "")
        text = call.text if name == known_name else name + call.text
        if not id_ or id_ == known_id:
            return text, ""
        if known_id:
            # The first one was no id either.
            self._labels[place] = "", known_name
        return text, known_id + id_
