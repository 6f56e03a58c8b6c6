"""Which vendor a request is for, and what is wanted of it: told by its path, and where paths are alike by headers."""

from typing import Literal, NamedTuple

from tollkeeper_simulator.dialect import Dialect
from tollkeeper_simulator.dialects import azure, gemini
from tollkeeper_simulator.dialects.anthropic import Anthropic
from tollkeeper_simulator.dialects.openai import OpenAI
from tollkeeper_simulator.dialects.responses import AzureResponses, OpenAIResponses
from tollkeeper_simulator.media.kinds import Kind
from tollkeeper_simulator.request import Request

Wanted = Literal["answer", "count", "models", "weather", "nothing"] | Kind


class Route(NamedTuple):
    dialect: Dialect
    wanted: Wanted


OPENAI = OpenAI()
AZURE = azure.Azure()
ANTHROPIC = Anthropic()
GEMINI = gemini.Gemini()

# OpenAI's, and Azure's after the name of a deployment.
OPERATIONS: dict[str, Wanted] = {
    "chat/completions": "answer",
    "embeddings": "embedding",
    "images/generations": "image",
    "images/edits": "edit",
    "audio/speech": "speech",
    "audio/transcriptions": "transcription",
    "audio/translations": "translation",
}
EXACT = {
    **{("POST", f"/v1/{path}"): Route(OPENAI, wanted) for path, wanted in OPERATIONS.items()},
    **{("POST", f"/openai/v1/{path}"): Route(AZURE, wanted) for path, wanted in OPERATIONS.items()},
    # A provider that is compatible in chat and in nothing else.
    ("POST", "/chat-only/v1/chat/completions"): Route(OPENAI, "answer"),
    ("POST", "/v1/responses"): Route(OpenAIResponses(), "answer"),
    ("POST", "/openai/v1/responses"): Route(AzureResponses(), "answer"),
    ("POST", "/v1/messages"): Route(ANTHROPIC, "answer"),
    ("POST", "/v1/messages/count_tokens"): Route(ANTHROPIC, "count"),
    ("GET", "/openai/v1/models"): Route(AZURE, "models"),
    ("GET", "/openai/models"): Route(AZURE, "models"),
    ("GET", "/v1beta/models"): Route(GEMINI, "models"),
    ("PUT", "/demo/storm"): Route(OPENAI, "weather"),
}
# Whose address it looks like, where nothing is wanted that exists.
BEGINNINGS = (
    ("/openai/", AZURE),
    ("/v1beta/", GEMINI),
    ("/v1/models/", GEMINI),
    ("/v1/messages", ANTHROPIC),
    ("/", OPENAI),
)


def route_of(request: Request) -> Route:
    return EXACT.get((request.method, request.path)) or _search(request)


def _search(request: Request) -> Route:
    if request.method == "POST":
        if deployed := azure.DEPLOYMENT_PATH.fullmatch(request.path):
            return Route(AZURE, OPERATIONS[deployed["operation"]])
        if gemini.PATH.fullmatch(request.path):
            return Route(GEMINI, "answer")
        if gemini.BATCH_PATH.fullmatch(request.path):
            return Route(GEMINI, "batch")
    if request.method == "GET" and request.path == "/v1/models":
        return Route(_by_headers(request), "models")
    return Route(next((vendor for start, vendor in BEGINNINGS if request.path.startswith(start)), OPENAI), "nothing")


def _by_headers(request: Request) -> Dialect:
    if "anthropic-version" in request.headers:
        return ANTHROPIC
    return GEMINI if "x-goog-api-key" in request.headers else OPENAI
