"""One call as it is to be answered: everything a script needs to know."""

from typing import NamedTuple

from tollkeeper_simulator.acts import Act, Cut, HalfClose, Stall
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.speech import Speech


class Figures(NamedTuple):
    """The tokens of an answer, as they are. All input is in `input_tokens`, all output in `output_tokens`."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    # Of those that were written, for an hour.
    cache_write_1h_tokens: int = 0
    image_input_tokens: int = 0
    audio_input_tokens: int = 0
    image_output_tokens: int = 0
    audio_output_tokens: int = 0
    tool_uses: int = 0


class Heading(NamedTuple):
    """What every JSON object of one answer repeats."""

    id: bytes
    created: int
    model: bytes

    def call_id(self, index: int, start: bytes = b"call_") -> bytes:
        return b"%b%b%02d" % (start, self.id[-22:], index)


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

    @property
    def times_usage_is_told(self) -> int:
        """Once, never, or twice."""
        said = self.directions.usage
        if said == "no" or (self.streamed and not self.wants_usage):
            return 0
        return 2 if said == "twice" else 1

    def misstated(self, asked: int, told: int) -> tuple[int, int]:
        """Tokens of input and output: right, or wrong in the way that was asked for."""
        if self.directions.usage == "right":
            return asked, told
        wrong = {
            "absurd": (asked + 10**9, told + 10**9),
            "negative": (-asked, -told),
            "zero": (0, 0),
            "huge": (2**63, 2**63),
        }
        return wrong.get(self.directions.usage, (asked, told))

    def stop_after(self, content_chunks: int) -> Act | None:
        """What ends the answer early once this many content chunks are out."""
        if not self.directions.stops_early:
            return None
        return early_stop(self.directions, content_chunks, self.content_chunks)

    @property
    def content_chunks(self) -> int:
        """How many content chunks the answer has, when all are sent; thoughts that are shown are content."""
        return (len(self.speech.thoughts) + len(self.speech.pieces)) * self.choices


def early_stop(chosen: Directions, sent: int, last: int) -> Act | None:
    """What ends an answer of `last` content chunks early once so many are out; put past the end, it is at the end."""
    turns: tuple[tuple[int | None, Act], ...] = (
        (chosen.cut_at, Cut()),
        (chosen.half_close_at, HalfClose()),
        (chosen.stall_at, Stall()),
    )
    return next((act for at, act in turns if at is not None and min(at, last) == sent), None)
