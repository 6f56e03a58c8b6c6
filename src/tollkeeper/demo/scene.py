"""One call as it is to be answered: everything a script needs to know."""

from typing import NamedTuple

from tollkeeper.demo.acts import Act, Cut, HalfClose, Stall
from tollkeeper.demo.directions import Directions
from tollkeeper.demo.speech import Speech
from tollkeeper.demo.vendor import Figures, Heading, usage


class Scene(NamedTuple):
    request_id: bytes
    heading: Heading
    directions: Directions
    speech: Speech
    choices: int
    figures: Figures
    streamed: bool
    # Whether the caller of a stream asked for usage; a whole answer always has it.
    wants_usage: bool

    def usages(self) -> list[bytes]:
        """The usage objects of the answer: one, none, or two."""
        said = self.directions.usage
        if said == "no" or (self.streamed and not self.wants_usage):
            return []
        return [usage(self.figures, said)] * (2 if said == "twice" else 1)

    def stop_after(self, content_chunks: int) -> Act | None:
        """What ends the answer early once this many content chunks are out."""
        if not self.directions.stops_early:
            return None
        chosen = self.directions
        turns: tuple[tuple[int | None, Act], ...] = (
            (chosen.cut_at, Cut()),
            (chosen.half_close_at, HalfClose()),
            (chosen.stall_at, Stall()),
        )
        return next(
            (act for at, act in turns if at is not None and min(at, self.content_chunks) == content_chunks), None
        )

    @property
    def content_chunks(self) -> int:
        """How many content chunks the answer has, when all are sent."""
        return len(self.speech.pieces) * self.choices
