"""What a call has taken of what others share: its part of the quota in plenty, and its place among those under way."""

from tollkeeper.ports import Passage
from tollkeeper.relay.by_bound import AskedInput
from tollkeeper.relay.gate import Gate


class CallShare:
    """Given back once, as early as it may be."""

    __slots__ = ("_asked", "_gate", "_is_given_back", "_place")

    def __init__(self, asked: AskedInput, gate: Gate, place: Passage) -> None:
        self._asked = asked
        self._gate = gate
        self._place = place
        self._is_given_back = False

    def give_back(self, output_tokens: int = 0) -> None:
        """`output_tokens`: what its answer came to, for the limits of tokens."""
        if self._is_given_back:
            return
        self._is_given_back = True
        self._asked.end()
        self._gate.leave(self._place, output_tokens)
