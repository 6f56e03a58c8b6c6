"""OpenAI's format in a malicious provider's hands: output in any form, usage anywhere, more after the end."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tollkeeper_simulator.dialect import Event, Passage
from tollkeeper_simulator.dialects.openai import Chunks, Extras, completion, usage
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.forms import ALL, Form, beside, form_of
from tollkeeper_simulator.hostile.openai_forms import FORMS, ONE_OF_EACH
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece, text_of

PLAIN = Form(b'"content":"@"')


class Share(NamedTuple):
    """What of a whole answer stands in one form."""

    form: Form
    pieces: list[Piece]


def forms_of(chosen: Hostile) -> Sequence[Form]:
    """One for all of the answer, or several that take turns; none: the ordinary one."""
    if chosen.hide == ALL:
        return ONE_OF_EACH
    form = form_of(chosen, FORMS)
    return () if form is None else (form,)


def hostile_completion(scene: Scene, extras: Extras, chosen: Hostile) -> Iterator[Piece]:
    """The whole answer, part by part; of several choices each has the words in the same form."""
    forms = forms_of(chosen)
    if not forms:
        yield from completion(scene, extras, in_pieces=True)
        return
    shares = [Share(form, form.worded(scene.speech.pieces[at :: len(forms)])) for at, form in enumerate(forms)]
    top = [share for share in shares if share.form.place in {"top", "alone"}]
    yield Piece(b'{"id":"%b","object":"chat.completion","created":%d,"model":"%b",' % scene.heading, 0)
    yield from _members(top, scene.choices)
    yield Piece(b'%b"choices":[' % (b"," if top else b""), 0)
    for index in range(scene.choices):
        yield from _choice(scene, shares, index)
    told = b',"usage":%b' % usage(scene) * scene.times_usage_is_told
    yield Piece(b"]%b%b}" % (told, extras.whole), 0)


def _choice(scene: Scene, shares: Sequence[Share], index: int) -> Iterator[Piece]:
    inner = [share for share in shares if share.form.place == "message"]
    outer = [share for share in shares if share.form.place == "choice"]
    message = beside([share.form for share in inner], role=b'"assistant"', content=b"null", refusal=b"null")
    start = b'%b{"index":%d,"message":{%b' % (b"," if index else b"", index, message)
    yield Piece(start if inner else start.removesuffix(b","), scene.speech.opening_tokens)
    yield from _members(inner)
    reason = b'"%b"' % scene.speech.finish_reason.encode()
    rest = beside([share.form for share in outer], logprobs=b"null", finish_reason=reason)
    yield Piece(b"}," + (rest if outer else rest.removesuffix(b",")), 0)
    yield from _members(outer)
    yield Piece(b"}", 0)


def _members(shares: Sequence[Share], times: int = 1) -> Iterator[Piece]:
    for at, (form, pieces) in enumerate(shares):
        yield Piece((b"," if at else b"") + form.before, 0)
        yield from pieces * times
        yield Piece(form.after, 0)


class HostileChunks(Chunks):
    """A stream of OpenAI's format whose parts stand where no vendor has them."""

    def __init__(self, scene: Scene, extras: Extras, chosen: Hostile) -> None:
        super().__init__(scene, extras)
        self._chosen = chosen
        self._forms = forms_of(chosen)
        if chosen.usage_place == "every":
            self._end = b'],"usage":%b}' % usage(scene)

    def opening(self) -> Iterator[Event]:
        if self._chosen.usage_place == "before":
            yield from self._usages()
        yield from super().opening()
        if self._chosen.early_finish:
            yield from self._reasons()

    def content(self) -> Iterator[Passage]:
        if not self._forms:
            yield from super().content()
            return
        if len(self._forms) == 1:
            yield self._passage(self._forms[0], self._scene.speech.pieces)
            return
        for at, piece in enumerate(self._scene.speech.pieces):
            yield self._passage(self._forms[at % len(self._forms)], [piece])

    def finish(self) -> Iterator[Event]:
        yield from self._reasons()
        yield from self.more("finish")
        if self._chosen.usage_place == "end":
            yield from self._usages()
        yield from self.more("usage")

    def more(self, after: str) -> Iterator[Event]:
        """Words that come when everything has been said."""
        if self._chosen.more_after != after:
            return
        form = self._forms[0] if self._forms else PLAIN
        before, closing = self._around_form(form, 0)
        for word in text_of(self._chosen.more).split():
            yield Event(before + form.wording(b" " + word.encode()) + closing, 1)

    def _usages(self) -> Iterator[Event]:
        for _ in range(self._scene.times_usage_is_told):
            yield Event(b'%b],"usage":%b}' % (self._start, usage(self._scene)))

    def _reasons(self) -> Iterator[Event]:
        reason = b'"%b"' % self._scene.speech.finish_reason.encode()
        for index in range(self._scene.choices):
            yield Event(self._choice(index, b"{}", reason))

    def _passage(self, form: Form, pieces: Sequence[Piece]) -> Passage:
        around = [self._around_form(form, index) for index in range(self._scene.choices)]
        return Passage(form.worded(pieces), around)

    def _around_form(self, form: Form, index: int) -> tuple[bytes, bytes]:
        start, end = self._start, self._end
        if form.place == "message":
            before = b'%b{"index":%d,"delta":{%b' % (start, index, form.before)
            return before, b'%b},"logprobs":null,"finish_reason":null}%b' % (form.after, end)
        if form.place == "choice":
            rest = beside([form], logprobs=b"null", finish_reason=b"null")
            return b'%b{"index":%d,"delta":{},%b%b' % (start, index, rest, form.before), b"%b}%b" % (form.after, end)
        if form.place == "alone":
            return b"%b],%b" % (start, form.before), form.after + b"}"
        choice = b'{"index":%d,"delta":{},"logprobs":null,"finish_reason":null}],' % index
        return b"%b%b%b" % (start, choice, form.before), form.after + b"}"
