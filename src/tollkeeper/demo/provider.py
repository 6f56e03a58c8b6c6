"""The provider: which request gets which script, and what is known about the call before it is played."""

import itertools
import random
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial

from tollkeeper.demo.acts import Act
from tollkeeper.demo.dialect import Dialect
from tollkeeper.demo.dialects.azure import IMAGE_EXTRAS, deployment_in
from tollkeeper.demo.directions import BadDirection, Directions, read_directions
from tollkeeper.demo.hostile.script import hostile_media_script, hostile_script, hostile_speech
from tollkeeper.demo.media.answer import Setting
from tollkeeper.demo.media.kinds import READINGS, Kind, names_of
from tollkeeper.demo.media.script import media_script
from tollkeeper.demo.problem import Problem, Refused
from tollkeeper.demo.request import BadRequest, Request
from tollkeeper.demo.routes import OPENAI, Wanted, route_of
from tollkeeper.demo.scene import Figures, Heading, Scene
from tollkeeper.demo.script import refuse, script_of, tell
from tollkeeper.demo.speech import escape, speech_for
from tollkeeper.demo.storm import CALM, Storm, read_storm
from tollkeeper.demo.tokens import count_input
from tollkeeper.demo.truth import TruthFile, TruthLine
from tollkeeper.demo.wire import Call, Connection

Handler = Callable[[Dialect, Request, TruthLine], Iterator[Act]]


class Provider:
    """Answers the requests of every connection; the `Stage` of `wire`."""

    def __init__(
        self,
        truth: TruthFile,
        *,
        key: str | None = None,
        name: str = "",
        defaults: Directions | None = None,
        storm: Storm = CALM,
        hostile: bool = False,
    ) -> None:
        self.connections: set[Connection] = set()
        self.storm = storm
        self._truth = truth
        self._key = key
        self._name = name
        self._takes_hostile = hostile
        self._defaults = defaults or Directions()
        self._numbers = itertools.count(1)
        self._prefix = secrets.token_hex(8)
        self._chance = random.Random()  # noqa: S311 - weather, not a secret
        self._handlers: dict[Wanted, Handler] = {
            "answer": self._chat,
            **{kind: partial(self._media, kind) for kind in READINGS},
            "models": self._models,
            "weather": self._change_weather,
            "nothing": _refuse_address,
        }

    def answer(self, request: Request) -> Call:
        dialect, wanted = route_of(request)
        line = self._new_line(request.headers.get("x-request-id"))
        line.vendor = dialect.vendor
        try:
            script = self._handlers[wanted](dialect, request, line)
        except Refused as refusal:
            script = refuse(dialect, line.request_id.encode("latin-1"), refusal.problem)
        return Call(line, script, self._truth.add if request.method == "POST" else _forget)

    def answer_nonsense(self, problem: BadRequest) -> Call:
        line = self._new_line(None)
        script = refuse(OPENAI, line.request_id.encode(), Problem(problem.status, str(problem)), close=True)
        return Call(line, script, self._truth.add)

    def _new_line(self, request_id: str | None) -> TruthLine:
        return TruthLine(request_id or f"req_{self._prefix}{next(self._numbers):016x}", time.time())

    def _chat(self, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        dialect.check(request, self._key)
        order = dialect.read(request)
        line.model, line.stream = order.model, bool(order.stream)
        self._weather()
        text = order.last_user_text()
        directions = self._directions(text)
        if directions.timeline:
            line.made_at = []
        speech, choices, hostile = speech_for(order, text, directions), order.choices, directions.hostile
        if hostile is not None:
            speech, choices = hostile_speech(speech, hostile, request), choices + hostile.extra_choices
        # Whoever is refused is charged nothing.
        if not directions.refuses:
            line.input_tokens, line.cached_tokens = count_input(order), directions.cached
            line.thinking_tokens = speech.thinking_tokens * choices
            if dialect.input_is_a_sum:
                _note_what_the_cache_took(line, directions)
        answer_id = f"{dialect.id_start}{self._prefix}{next(self._numbers):013x}".encode()
        scene = Scene(
            request_id=line.request_id.encode("latin-1"),
            heading=Heading(answer_id, int(line.received_at), escape(order.model)),
            directions=directions,
            speech=speech,
            choices=choices,
            figures=Figures(
                line.input_tokens,
                line.cached_tokens,
                speech.tokens * choices,
                line.cache_write_tokens,
                line.thinking_tokens,
            ),
            streamed=line.stream,
            wants_usage=order.wants_usage or (hostile is not None and hostile.usage_unasked),
        )
        if hostile is not None:
            return hostile_script(dialect, scene, hostile, request)
        return script_of(dialect, scene)

    def _media(self, kind: Kind, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        line.kind = kind
        dialect.check(request, self._key)
        reading, deployment = READINGS[kind], deployment_in(request.path)
        fields = reading.fields(request)
        line.fields = names_of(fields)
        order = reading.order(fields if deployment is None else {**fields, "model": deployment})
        line.model, line.file_bytes = order.model, order.file_bytes
        self._weather()
        directions = self._directions(order.asked)
        # Whoever is refused is charged nothing.
        if not directions.refuses:
            line.characters = order.characters
        extras = IMAGE_EXTRAS if dialect.vendor == "azure" else b""
        if directions.hostile is not None:
            return hostile_media_script(dialect, line.request_id.encode("latin-1"), directions, request)
        setting = Setting(directions, int(line.received_at), line.request_id, extras)
        return media_script(dialect, line.request_id.encode("latin-1"), directions, order.answer(setting))

    def _weather(self) -> None:
        if self.storm.share and self._chance.random() < self.storm.share:
            raise Refused(Problem(self.storm.status))

    def _directions(self, text: str) -> Directions:
        try:
            return read_directions(text, self._defaults, self._name, takes_hostile=self._takes_hostile)
        except BadDirection as problem:
            raise Refused(Problem(400, f"Stage direction: {problem}", code="bad_direction")) from None

    def _models(self, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        dialect.check(request, self._key)
        return tell(dialect, line.request_id.encode("latin-1"), dialect.models(int(line.received_at)))

    def _change_weather(self, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        """The body is what `--storm` takes; an empty one ends the storm."""
        try:
            self.storm = read_storm(request.body.decode("latin-1"))
        except ValueError as problem:
            raise Refused(Problem(400, str(problem))) from None
        return tell(dialect, line.request_id.encode("latin-1"), b"{}")


def _note_what_the_cache_took(line: TruthLine, directions: Directions) -> None:
    line.cache_write_tokens = directions.cache_write
    # Parts that are told beside each other cannot be more than their sum.
    line.input_tokens = max(line.input_tokens, directions.cached + directions.cache_write)


def _refuse_address(dialect: Dialect, request: Request, _: TruthLine) -> Iterator[Act]:
    raise Refused(dialect.unknown_address(request))


def _forget(line: TruthLine) -> None:
    """Only calls are on file."""
