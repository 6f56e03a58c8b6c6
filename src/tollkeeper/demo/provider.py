"""The provider: which request gets which script, and what is known about the call before it is played."""

import itertools
import random
import secrets
import time
from collections.abc import Callable, Iterator

import msgspec

from tollkeeper.demo.acts import Act
from tollkeeper.demo.directions import BadDirection, Directions, read_directions
from tollkeeper.demo.order import Order, read_order
from tollkeeper.demo.request import BadRequest, Request
from tollkeeper.demo.scene import Scene
from tollkeeper.demo.script import refuse, script_of, tell
from tollkeeper.demo.speech import escape, speech_for
from tollkeeper.demo.storm import CALM, Storm, read_storm
from tollkeeper.demo.tokens import count_input
from tollkeeper.demo.truth import TruthFile, TruthLine
from tollkeeper.demo.vendor import Figures, Heading, Problem, model_list, wrong_key
from tollkeeper.demo.wire import Call, Connection

NOT_JSON = "We could not parse the JSON body of your request."


class Refused(Exception):
    """A call that gets an error instead of an answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status)
        self.problem = problem


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
    ) -> None:
        self.connections: set[Connection] = set()
        self.storm = storm
        self._truth = truth
        self._key = key
        self._name = name
        self._defaults = defaults or Directions()
        self._numbers = itertools.count(1)
        self._prefix = secrets.token_hex(8)
        self._chance = random.Random()  # noqa: S311 - weather, not a secret
        self._routes: dict[tuple[str, str], Callable[[Request, TruthLine], Iterator[Act]]] = {
            ("POST", "/v1/chat/completions"): self._chat,
            ("GET", "/v1/models"): self._models,
            ("PUT", "/demo/storm"): self._change_weather,
        }

    def answer(self, request: Request) -> Call:
        line = self._new_line(request.headers.get("x-request-id"))
        route = self._routes.get((request.method, request.path))
        try:
            if route is None:
                raise Refused(Problem(404, f"Invalid URL ({request.method} {request.path})", code="unknown_url"))
            script = route(request, line)
        except Refused as refusal:
            script = refuse(line.request_id.encode("latin-1"), refusal.problem)
        return Call(line, script, self._truth.add if request.method == "POST" else _forget)

    def answer_nonsense(self, problem: BadRequest) -> Call:
        line = self._new_line(None)
        script = refuse(line.request_id.encode(), Problem(problem.status, str(problem)), close=True)
        return Call(line, script, self._truth.add)

    def _new_line(self, request_id: str | None) -> TruthLine:
        return TruthLine(request_id or f"req_{self._prefix}{next(self._numbers):016x}", time.time())

    def _chat(self, request: Request, line: TruthLine) -> Iterator[Act]:
        self._check_key(request)
        order = _order(request.body)
        line.model, line.stream = order.model, bool(order.stream)
        self._weather()
        directions = self._directions(order)
        speech = speech_for(order, directions)
        # Whoever is refused is charged nothing.
        if not directions.refuses:
            line.input_tokens, line.cached_tokens = count_input(order), directions.cached
        answer_id = f"chatcmpl-{self._prefix}{next(self._numbers):013x}".encode()
        scene = Scene(
            request_id=line.request_id.encode("latin-1"),
            heading=Heading(answer_id, int(line.received_at), escape(order.model)),
            directions=directions,
            speech=speech,
            choices=order.choices,
            figures=Figures(line.input_tokens, line.cached_tokens, speech.tokens * order.choices),
            streamed=line.stream,
            wants_usage=order.wants_usage,
        )
        return script_of(scene)

    def _check_key(self, request: Request) -> None:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if self._key is not None and sent != self._key:
            raise Refused(wrong_key(sent))

    def _weather(self) -> None:
        if self.storm.share and self._chance.random() < self.storm.share:
            raise Refused(Problem(self.storm.status))

    def _directions(self, order: Order) -> Directions:
        try:
            return read_directions(order.last_user_text(), self._defaults, self._name)
        except BadDirection as problem:
            raise Refused(Problem(400, f"Stage direction: {problem}", code="bad_direction")) from None

    def _models(self, request: Request, line: TruthLine) -> Iterator[Act]:
        self._check_key(request)
        return tell(line.request_id.encode("latin-1"), model_list(int(line.received_at)))

    def _change_weather(self, request: Request, line: TruthLine) -> Iterator[Act]:
        """The body is what `--storm` takes; an empty one ends the storm."""
        try:
            self.storm = read_storm(request.body.decode("latin-1"))
        except ValueError as problem:
            raise Refused(Problem(400, str(problem))) from None
        return tell(line.request_id.encode("latin-1"), b"{}")


def _order(body: bytes) -> Order:
    try:
        return read_order(body)
    except msgspec.ValidationError as problem:
        raise Refused(Problem(400, str(problem))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(Problem(400, NOT_JSON)) from None


def _forget(line: TruthLine) -> None:
    """Only calls are on file."""
