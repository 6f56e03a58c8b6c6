"""OpenAI's Responses API, and Azure's, which is the same at another address."""

from collections.abc import Iterator

import msgspec

from tollkeeper_simulator.dialect import Event, ToldParts
from tollkeeper_simulator.dialects.azure import Azure
from tollkeeper_simulator.dialects.openai import OpenAI
from tollkeeper_simulator.dialects.responses.answer import ResponseEvents, whole_response
from tollkeeper_simulator.dialects.responses.order import read_responses_order
from tollkeeper_simulator.order import Asked
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece

FAILED = "The server had an error processing your request. Sorry about that!"


class ResponsesWording:
    """What both vendors have in common: a mixin for their `Dialect` of chat."""

    id_start = "resp_"
    # Images and sounds are told in chat alone.
    tells = ToldParts(cache_write=True)

    def read(self, request: Request) -> Asked:
        return read_responses_order(request.body)

    def error_event(self, scene: Scene) -> Event:
        return error_event(scene)

    def whole(self, scene: Scene, *, in_pieces: bool) -> Iterator[Piece]:
        return whole_response(scene, in_pieces=in_pieces)

    def telling(self, scene: Scene) -> ResponseEvents:
        return ResponseEvents(scene)


class OpenAIResponses(ResponsesWording, OpenAI):  # type: ignore[misc]
    """The `Dialect` of OpenAI's responses."""


class AzureResponses(ResponsesWording, Azure):  # type: ignore[misc]
    """The `Dialect` of Azure's responses."""


def error_event(scene: Scene) -> Event:
    told = scene.directions
    problem = {
        "type": "error",
        "sequence_number": scene.content_chunks,
        "code": told.error_code or "server_error",
        "message": told.status_text or FAILED,
        "param": None,
    }
    return Event(msgspec.json.encode(problem), name=b"error")
