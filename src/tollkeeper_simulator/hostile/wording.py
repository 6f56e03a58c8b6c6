"""A vendor's wording, bent: the same answer with its output, its usage and its bytes where nobody expects them."""

from collections.abc import Callable, Iterator

from tollkeeper_simulator.dialect import Dialect, Event, Passage, Telling
from tollkeeper_simulator.dialects.azure import extras_of as azure_extras
from tollkeeper_simulator.dialects.openai import EXTRAS
from tollkeeper_simulator.hostile.anthropic import FORMS as ANTHROPIC_FORMS
from tollkeeper_simulator.hostile.anthropic import HostileEvents, hostile_message
from tollkeeper_simulator.hostile.changes import BOM, LETTERS, Change, Logprobs, aside_of, changes_of
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.forms import ALL, Form, form_of
from tollkeeper_simulator.hostile.gemini import FORMS as GEMINI_FORMS
from tollkeeper_simulator.hostile.gemini import hostile_chunks, hostile_content
from tollkeeper_simulator.hostile.openai import HostileChunks, hostile_completion
from tollkeeper_simulator.hostile.openai_forms import FORMS as OPENAI_FORMS
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece

FORMS: dict[str, dict[str, Form]] = {
    "openai": OPENAI_FORMS,
    "azure": OPENAI_FORMS,
    "anthropic": ANTHROPIC_FORMS,
    "gemini": GEMINI_FORMS,
}
WHOLES: dict[str, Callable[[Scene, Hostile], Iterator[Piece]]] = {
    "openai": lambda scene, chosen: hostile_completion(scene, EXTRAS, chosen),
    "azure": lambda scene, chosen: hostile_completion(scene, azure_extras(scene), chosen),
    "anthropic": hostile_message,
    "gemini": hostile_content,
}
TELLINGS: dict[str, Callable[[Scene, Hostile], Telling]] = {
    "openai": lambda scene, chosen: HostileChunks(scene, EXTRAS, chosen),
    "azure": lambda scene, chosen: HostileChunks(scene, azure_extras(scene), chosen),
    "anthropic": HostileEvents,
    "gemini": hostile_chunks,
}
OPENAI_ALONE = ("more_after", "early_finish", "logprobs_mb")


def check(vendor: str, chosen: Hostile) -> None:
    """Raise Refused for what this vendor's format has no place for."""
    if vendor in {"openai", "azure"} and chosen.hide == ALL:
        return
    form_of(chosen, FORMS[vendor])
    others = [name for name in OPENAI_ALONE if getattr(chosen, name)]
    if chosen.usage_place != "end":
        others.append("usage_place")
    if others and vendor not in {"openai", "azure"}:
        raise Refused(Problem(400, f"Stage direction: {others[0]} is for OpenAI's format", code="bad_direction"))


class HostileWording:
    """The `Wording` of a vendor with what was asked of a malicious provider."""

    def __init__(self, dialect: Dialect, chosen: Hostile) -> None:
        self._dialect = dialect
        self._chosen = chosen
        self.line_end = b"\r" if chosen.cr_only else dialect.line_end

    def own_fields(self, request_id: bytes) -> bytes:
        return self._dialect.own_fields(request_id)

    def error(self, problem: Problem, request_id: bytes) -> bytes:
        return self._dialect.error(problem, request_id)

    def error_fields(self, problem: Problem) -> tuple[bytes, ...]:
        return self._dialect.error_fields(problem)

    def error_event(self, scene: Scene) -> Event:
        return self._dialect.error_event(scene)

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        """The answer always comes in pieces: only so can they be changed one by one."""
        changes: list[Change] = [*changes_of(self._chosen), Logprobs(self._chosen)]
        letters, start = LETTERS[self._chosen.letters], b"{" + aside_of(self._chosen)
        if self._chosen.bom:
            start = BOM + start
        for at, piece in enumerate(WHOLES[self._dialect.vendor](scene, self._chosen)):
            data = letters + piece.escaped if piece.is_content else piece.escaped
            for change in changes:
                data = change(data)
            yield piece._replace(escaped=data if at else start + data.removeprefix(b"{"))

    def telling(self, scene: Scene) -> "BentTelling":
        return BentTelling(TELLINGS[self._dialect.vendor](scene, self._chosen), self._chosen)


class BentTelling:
    """A stream whose events are changed on their way."""

    def __init__(self, told: Telling, chosen: Hostile) -> None:
        self._told = told
        self._changes = changes_of(chosen)
        self._logprobs = Logprobs(chosen)
        self._aside = aside_of(chosen)
        self._letters = LETTERS[chosen.letters]

    def opening(self) -> Iterator[Event]:
        if self._aside:
            yield Event(b'{%b"object":"aside"}' % self._aside)
        for event in self._told.opening():
            yield event._replace(data=self._logprobs(self._changed(event.data)))

    def content(self) -> Iterator[Event | Passage]:
        for part in self._told.content():
            if isinstance(part, Event):
                yield part._replace(data=self._changed(part.data))
                continue
            pieces = [piece._replace(escaped=self._letters + self._changed(piece.escaped)) for piece in part.pieces]
            around = [(self._changed(before), self._changed(after)) for before, after in part.around]
            yield Passage(pieces, around, part.name)

    def finish(self) -> Iterator[Event]:
        for event in self._told.finish():
            yield event._replace(data=self._changed(event.data))

    def done(self) -> Event | None:
        return self._told.done()

    def malformed(self) -> Event:
        return self._told.malformed()

    def padding(self) -> tuple[Event, bytes]:
        return self._told.padding()

    def after_done(self) -> Iterator[Event]:
        """What still comes when a stream is over."""
        if isinstance(self._told, HostileChunks):
            yield from self._told.more("done")

    def _changed(self, data: bytes) -> bytes:
        for change in self._changes:
            data = change(data)
        return data
