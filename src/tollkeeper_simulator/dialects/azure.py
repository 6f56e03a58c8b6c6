"""Azure's relative of OpenAI's format: other addresses and errors, and what its content filter thinks of everything."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from tollkeeper_simulator.dialect import Event
from tollkeeper_simulator.dialects.openai import NOT_JSON, Chunks, Extras, OpenAI, completion
from tollkeeper_simulator.order import Asked, Order, checked, read_order
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece

# With a deployment in the address, the version of the interface must be in it too.
DEPLOYMENT_PATH = re.compile(
    r"/openai/deployments/(?P<deployment>[^/]+)/"
    r"(?P<operation>chat/completions|embeddings|images/(?:generations|edits)|audio/(?:speech|transcriptions|translations))"
)
V1 = "/openai/v1/"

WRONG_KEY = (
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource."
)
_ERROR_TEXTS = {
    429: "Requests to this deployment have exceeded the call rate limit of your current tier. Please retry later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The service is temporarily unable to process your request. Please try again later.",
}
_SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}
_FOUND = _SAFE | {"violence": {"filtered": True, "severity": "high"}}
_PROMPT = b',"prompt_filter_results":' + msgspec.json.encode(
    [{"prompt_index": 0, "content_filter_results": _SAFE | {"jailbreak": {"filtered": False, "detected": False}}}]
)
# What the filter thinks of each image.
IMAGE_EXTRAS = b'"content_filter_results":%b,"prompt_filter_results":%b,' % (
    msgspec.json.encode(_SAFE),
    msgspec.json.encode(_SAFE | {"profanity": {"filtered": False, "detected": False}}),
)


class DeploymentOrder(Order, kw_only=True):
    """The model is the deployment in the address, whatever the body says."""

    model: str = ""


_orders = msgspec.json.Decoder(DeploymentOrder)


class Azure(OpenAI):
    """The `Dialect` of Azure."""

    vendor = "azure"

    def own_fields(self, request_id: bytes) -> bytes:
        return b"apim-request-id: %b\r\nx-request-id: %b\r\nx-ms-region: Demo" % (request_id, request_id)

    def check(self, request: Request, key: str | None) -> None:
        sent = request.headers.get("api-key", "")
        is_v1 = request.path.startswith(V1)
        if not sent and is_v1:
            sent = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if key is not None and sent != key:
            raise Refused(Problem(401, WRONG_KEY))
        if not is_v1 and not request.parameter("api-version"):
            raise Refused(self.unknown_address(request))

    def unknown_address(self, request: Request) -> Problem:
        return Problem(404, "Resource not found")

    def read(self, request: Request) -> Asked:
        found = DEPLOYMENT_PATH.fullmatch(request.path)
        try:
            if found is None:
                return read_order(request.body)
            order = checked(_orders.decode(request.body))
        except msgspec.ValidationError as problem:
            raise Refused(Problem(400, str(problem))) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Refused(Problem(400, NOT_JSON)) from None
        order.model = unquote(found["deployment"])
        return order

    def error(self, problem: Problem, request_id: bytes) -> bytes:
        """What the gateway before the models refuses has a code and a message only; the models speak as OpenAI's do."""
        status = problem.status
        if status == 400 or problem.type is not None:
            return super().error(problem, request_id)
        said = problem.message or _ERROR_TEXTS.get(status, f"The provider answers with {status}.")
        return msgspec.json.encode({"error": {"code": problem.code or str(status), "message": said}})

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        return completion(scene, extras_of(scene), in_pieces=in_pieces)

    def telling(self, scene: Scene) -> Chunks:
        return FilteredChunks(scene, extras_of(scene))


def deployment_in(path: str) -> str | None:
    found = DEPLOYMENT_PATH.fullmatch(path)
    return None if found is None else unquote(found["deployment"])


class FilteredChunks(Chunks):
    """A stream that begins with what the filter thinks of the prompt."""

    def opening(self) -> Iterator[Event]:
        yield Event(b'{"choices":[],"created":0,"id":"","model":"","object":""%b}' % _PROMPT)
        yield from super().opening()


def extras_of(scene: Scene) -> Extras:
    results = _FOUND if scene.speech.finish_reason == "content_filter" else _SAFE
    choice = b',"content_filter_results":' + msgspec.json.encode(results)
    return Extras(choice=choice, empty_choice=b',"content_filter_results":{}', whole=_PROMPT)
