"""Anthropic's Messages API."""

from collections.abc import Iterator

import msgspec

from tollkeeper_simulator.dialect import Event, ToldParts
from tollkeeper_simulator.dialects.anthropic.message import MessageEvents, whole_message
from tollkeeper_simulator.dialects.anthropic.order import read_messages_order
from tollkeeper_simulator.order import Asked
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece

MODELS = ("demo-small", "demo-large")
OVERLOADED = 529

_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}
_ERROR_TEXTS = {
    429: "This request would exceed your account's rate limit. Please try again later.",
    500: "Internal server error",
    OVERLOADED: "Overloaded",
}


class Anthropic:
    """The `Dialect` of Anthropic."""

    vendor = "anthropic"
    id_start = "msg_01"
    line_end = b"\n"
    tells = ToldParts(cache_write=True, cache_write_1h=True, tools=True)

    def own_fields(self, request_id: bytes) -> bytes:
        return b"request-id: " + request_id

    def check(self, request: Request, key: str | None) -> None:
        # The key has a header of its own; the vendor's newer clients send it as a bearer instead.
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        sent = request.headers.get("x-api-key") or bearer
        if key is not None and sent != key:
            raise Refused(Problem(401, "invalid x-api-key" if sent else "x-api-key header is required"))
        if "anthropic-version" not in request.headers:
            raise Refused(Problem(400, "anthropic-version: header is required"))

    def unknown_address(self, request: Request) -> Problem:
        return Problem(404, f"Not found: {request.method} {request.path}")

    def read(self, request: Request) -> Asked:
        return read_messages_order(request.body)

    def error(self, problem: Problem, request_id: bytes) -> bytes:
        status = problem.status
        usual = "invalid_request_error" if status < 500 else "api_error"
        error = {
            "type": problem.type or _ERROR_TYPES.get(status, usual),
            "message": problem.message or _ERROR_TEXTS.get(status, f"The provider answers with {status}."),
        }
        return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id.decode("latin-1")})

    def error_fields(self, problem: Problem) -> tuple[bytes, ...]:
        return () if problem.retry_after is None else (b"retry-after: %d" % problem.retry_after,)

    def error_event(self, scene: Scene) -> Event:
        told = scene.directions
        problem = Problem(OVERLOADED, told.status_text, told.error_type)
        return Event(self.error(problem, scene.request_id), name=b"error")

    def models(self, created: int) -> bytes:
        since = "2026-01-01T00:00:00Z"
        cards = [
            {"type": "model", "id": name, "display_name": name, "created_at": since, "lifecycle": "active"}
            for name in MODELS
        ]
        return msgspec.json.encode({"data": cards, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]})

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        return whole_message(scene, in_pieces=in_pieces)

    def telling(self, scene: Scene) -> MessageEvents:
        return MessageEvents(scene)
