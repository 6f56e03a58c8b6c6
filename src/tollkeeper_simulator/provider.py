"""The provider: which request gets which script, and what is known about the call before it is played."""

import itertools
import random
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from tollkeeper_simulator.acts import Act
from tollkeeper_simulator.dialect import Dialect
from tollkeeper_simulator.dialects.anthropic.order import read_messages_order
from tollkeeper_simulator.dialects.azure import IMAGE_EXTRAS, deployment_in
from tollkeeper_simulator.dialects.gemini import model_in
from tollkeeper_simulator.directions import Asking, BadDirection, Directions, read_directions
from tollkeeper_simulator.hostile.script import hostile_media_script, hostile_script, hostile_speech
from tollkeeper_simulator.media.answer import Setting
from tollkeeper_simulator.media.kinds import READINGS, Kind, names_of
from tollkeeper_simulator.media.script import media_script
from tollkeeper_simulator.order import CheckedOrder, directed
from tollkeeper_simulator.parts import figures_of, note_parts
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.prompt_cache import PromptCache
from tollkeeper_simulator.request import BadRequest, Request
from tollkeeper_simulator.routes import OPENAI, Wanted, route_of
from tollkeeper_simulator.scene import Heading, Scene
from tollkeeper_simulator.script import refuse, script_of, tell
from tollkeeper_simulator.speech import escape, speech_for
from tollkeeper_simulator.storm import CALM, Storm, read_storm
from tollkeeper_simulator.tokens import count_input
from tollkeeper_simulator.truth import TruthFile, TruthLine
from tollkeeper_simulator.wire import Call, Connection

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
        # Several are separated by commas, as while an account's key is being replaced.
        self._keys = () if key is None else tuple(key.split(","))
        self._name = name
        self._takes_hostile = hostile
        self._defaults = defaults or Directions()
        # Words of directions that speak once.
        self._met: set[str] = set()
        self._cache = PromptCache()
        self._numbers = itertools.count(1)
        self._prefix = secrets.token_hex(8)
        self._chance = random.Random()  # noqa: S311 - weather, not a secret
        self._handlers: dict[Wanted, Handler] = {
            "answer": self._chat,
            "count": self._count,
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
        self._check(dialect, request, line)
        order = dialect.read(request)
        line.model, line.stream = order.model, bool(order.stream)
        line.fields = order.fields if isinstance(order, CheckedOrder) else ""
        self._weather()
        text = order.last_user_text()
        directions = self._directions(*directed(order, text))
        if directions.remembers and not directions.refuses:
            directions = msgspec.structs.replace(directions, cached=self._cache.known_tokens(request, order))
        if directions.timeline:
            line.made_at = []
        speech, choices, hostile = speech_for(order, text, directions), order.choices, directions.hostile
        if hostile is not None:
            speech, choices = hostile_speech(speech, hostile, request), choices + hostile.extra_choices
        # Whoever is refused is charged nothing.
        if not directions.refuses:
            line.input_tokens, line.cached_tokens = count_input(order), directions.cached
            line.thinking_tokens = speech.thinking_tokens * choices
            note_parts(line, directions, dialect.tells, (speech.tokens - speech.thinking_tokens) * choices)
        answer_id = f"{dialect.id_start}{self._prefix}{next(self._numbers):013x}".encode()
        scene = Scene(
            request_id=line.request_id.encode("latin-1"),
            heading=Heading(answer_id, int(line.received_at), escape(order.model)),
            directions=directions,
            speech=speech,
            choices=choices,
            figures=figures_of(line, speech.tokens * choices),
            streamed=line.stream,
            wants_usage=order.wants_usage or (hostile is not None and hostile.usage_unasked),
        )
        if hostile is not None:
            return hostile_script(dialect, scene, hostile, request)
        return script_of(dialect, scene)

    def _count(self, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        """What an order comes to. It is free, and so its line has no tokens."""
        self._check(dialect, request, line)
        order = read_messages_order(request.body, to_count=True)
        line.model = order.model
        self._weather()
        directions = self._directions(order.last_user_text())
        request_id = line.request_id.encode("latin-1")
        if directions.refuses:
            raise Refused(Problem(directions.status, directions.status_text))
        return tell(dialect, request_id, b'{"input_tokens":%d}' % count_input(order))

    def _media(self, kind: Kind, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        line.kind = kind
        self._check(dialect, request, line)
        reading, named = READINGS[kind], deployment_in(request.path) or model_in(request.path)
        fields = reading.fields(request)
        line.fields = names_of(fields)
        order = reading.order(fields if named is None else {**fields, "model": named})
        line.model, line.file_bytes = order.model, order.file_bytes
        self._weather()
        directions = self._directions(order.asked)
        # Whoever is refused is charged nothing.
        if not directions.refuses:
            line.characters, line.input_tokens = order.characters, order.tokens
        extras = IMAGE_EXTRAS if dialect.vendor == "azure" else b""
        if directions.hostile is not None:
            return hostile_media_script(dialect, line.request_id.encode("latin-1"), directions, request)
        setting = Setting(directions, int(line.received_at), line.request_id, extras)
        return media_script(dialect, line.request_id.encode("latin-1"), directions, order.answer(setting))

    def _check(self, dialect: Dialect, request: Request, line: TruthLine) -> None:
        """Raise Refused for a key that is none of ours, or wrong headers."""
        if not self._keys:
            dialect.check(request, None)
        for number, key in enumerate(self._keys, 1):
            try:
                dialect.check(request, key)
            except Refused:
                if number == len(self._keys):
                    raise
            else:
                line.key_number = number
                return

    def _weather(self) -> None:
        if self.storm.share and self._chance.random() < self.storm.share:
            raise Refused(Problem(self.storm.status))

    def _directions(self, text: str, results: int = 0) -> Directions:
        try:
            return read_directions(text, self._defaults, Asking(self._name, results, self._takes_hostile), self._met)
        except BadDirection as problem:
            raise Refused(Problem(400, f"Stage direction: {problem}", code="bad_direction")) from None

    def _models(self, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        self._check(dialect, request, line)
        return tell(dialect, line.request_id.encode("latin-1"), dialect.models(int(line.received_at)))

    def _change_weather(self, dialect: Dialect, request: Request, line: TruthLine) -> Iterator[Act]:
        """The body is what `--storm` takes; an empty one ends the storm."""
        try:
            self.storm = read_storm(request.body.decode("latin-1"))
        except ValueError as problem:
            raise Refused(Problem(400, str(problem))) from None
        return tell(dialect, line.request_id.encode("latin-1"), b"{}")


def _refuse_address(dialect: Dialect, request: Request, _: TruthLine) -> Iterator[Act]:
    raise Refused(dialect.unknown_address(request))


def _forget(line: TruthLine) -> None:
    """Only calls are on file."""
