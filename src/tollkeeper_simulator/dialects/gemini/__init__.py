"""Google's Gemini API: content generated, whole or as a stream."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from tollkeeper_simulator.dialect import Event, ToldParts
from tollkeeper_simulator.dialects.gemini.answer import ContentChunks, whole_content
from tollkeeper_simulator.dialects.gemini.order import read_content_order
from tollkeeper_simulator.order import Asked
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece

MODELS = ("demo-small", "demo-large")
PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)")
BATCH_PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^:]+):batchEmbedContents")

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ERROR_TEXTS = {
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry or report.",
    503: "The model is overloaded. Please try again later.",
}


class Gemini:
    """The `Dialect` of Gemini."""

    vendor = "gemini"
    id_start = ""
    line_end = b"\r\n"
    tells = ToldParts(media=True)

    def own_fields(self, request_id: bytes) -> bytes:
        """This vendor gives no id back in its headers."""
        return b"server: scaffolding on HTTPServer2\r\nx-content-type-options: nosniff"

    def check(self, request: Request, key: str | None) -> None:
        if key is None:
            return
        sent = request.headers.get("x-goog-api-key") or request.parameter("key")
        if not sent:
            raise Refused(
                Problem(
                    403,
                    "Method doesn't allow unregistered callers (callers without established identity). Please use API "
                    "Key or other form of API consumer identity to call this API.",
                )
            )
        if sent != key:
            said = "API key not valid. Please pass a valid API key."
            raise Refused(Problem(400, said, code="API_KEY_INVALID"))

    def unknown_address(self, request: Request) -> Problem:
        return Problem(404, f"Method not found: {request.method} {request.path}.")

    def read(self, request: Request) -> Asked:
        found = PATH.fullmatch(request.path)
        if found is None:
            raise Refused(self.unknown_address(request))
        is_streamed = found["method"] == "streamGenerateContent"
        if is_streamed and request.parameter("alt") != "sse":
            raise Refused(Problem(400, "This simulator streams with alt=sse only."))
        try:
            return read_content_order(unquote(found["model"]), request.body, is_streamed=is_streamed)
        except RecursionError:
            raise Refused(Problem(400, "Invalid JSON payload received. It is nested too deeply.")) from None

    def error(self, problem: Problem, request_id: bytes) -> bytes:
        status = problem.status
        error: dict[str, object] = {
            "code": status,
            "message": problem.message or _ERROR_TEXTS.get(status, f"The provider answers with {status}."),
            "status": problem.type or _STATUSES.get(status, "UNKNOWN"),
        }
        if details := list(_details(problem)):
            error["details"] = details
        return msgspec.json.encode({"error": error})

    def error_fields(self, problem: Problem) -> tuple[bytes, ...]:
        """When to come back is said in the body."""
        return ()

    def error_event(self, scene: Scene) -> Event:
        told = scene.directions
        problem = Problem(503, told.status_text, told.error_type, told.error_code)
        return Event(self.error(problem, scene.request_id))

    def models(self, created: int) -> bytes:
        cards = [
            {
                "name": f"models/{name}",
                "version": "001",
                "displayName": name,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
            }
            for name in MODELS
        ]
        return msgspec.json.encode({"models": cards})

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        return whole_content(scene, in_pieces=in_pieces)

    def telling(self, scene: Scene) -> ContentChunks:
        return ContentChunks(scene)


def model_in(path: str) -> str | None:
    """The model of a batch of embeddings."""
    found = BATCH_PATH.fullmatch(path)
    return None if found is None else unquote(found["model"])


def _details(problem: Problem) -> Iterator[dict[str, object]]:
    if problem.code is not None:
        yield {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": problem.code,
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        }
    if problem.retry_after is not None:
        yield {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{problem.retry_after}s"}
