"""Where output can hide: a form is a piece of JSON with a hole, which the words of the answer fill.

Rules of this file
1. A form holds the same words as ordinary content would, so its tokens are the answer's.
2. Words that are put in another script (base64, digits) are as many tokens as the words were.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece, Speech, Thinking

HOLE = b"@"
ALL = "all"


def as_it_is(words: bytes) -> bytes:
    return words


def in_base64(words: bytes) -> bytes:
    return base64.b64encode(words)


def in_digits(words: bytes) -> bytes:
    """Three digits for each word: one token."""
    return b"731" * max(len(words.split()), 1)


def in_booleans(words: bytes) -> bytes:
    """Members of a list that goes on."""
    return b"true," * max(len(words.split()), 1)


def at_length(words: bytes) -> bytes:
    """Too long for what is no output where it is short."""
    return words + b" " * 600


class Form(NamedTuple):
    """A member of a message, of a choice, of the whole object, or of an object without choices."""

    template: bytes
    place: Literal["message", "choice", "top", "alone"] = "message"
    wording: Callable[[bytes], bytes] = as_it_is

    @property
    def before(self) -> bytes:
        return self.template.partition(HOLE)[0]

    @property
    def after(self) -> bytes:
        return self.template.partition(HOLE)[2]

    def worded(self, pieces: Sequence[Piece]) -> list[Piece]:
        return [piece._replace(escaped=self.wording(piece.escaped)) for piece in pieces]


def beside(forms: Sequence[Form], **members: bytes) -> bytes:
    """Members that stand before the forms, but for those that a form has itself."""
    has = {form.template.partition(b":")[0] for form in forms}
    told = {b'"%b"' % name.encode(): value for name, value in members.items()}
    return b"".join(b"%b:%b," % (name, value) for name, value in told.items() if name not in has)


def form_of(chosen: Hostile, forms: Mapping[str, Form]) -> Form | None:
    """The form that hides all of the answer, if one does. Raises Refused if this vendor's format has no such form."""
    if not chosen.hide:
        return None
    if chosen.hide not in forms:
        said = f"Stage direction: hide is one of {', '.join(forms)} in this vendor's format"
        raise Refused(Problem(400, said, code="bad_direction"))
    return forms[chosen.hide]


def worded(scene: Scene, form: Form) -> Scene:
    """The same answer in the form's script."""
    said = scene.speech
    thinking = Thinking(said.thoughts, said.hidden_tokens)
    return scene._replace(speech=Speech(form.worded(said.pieces), said.finish_reason, said.tool_name, thinking))
