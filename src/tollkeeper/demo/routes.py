"""Which vendor a request is for, and what is wanted of it: told by its path, and where paths are alike by headers."""

from typing import Literal, NamedTuple

from tollkeeper.demo.dialect import Dialect
from tollkeeper.demo.dialects import azure, gemini
from tollkeeper.demo.dialects.anthropic import Anthropic
from tollkeeper.demo.dialects.openai import OpenAI
from tollkeeper.demo.request import Request

Wanted = Literal["answer", "models", "weather", "nothing"]


class Route(NamedTuple):
    dialect: Dialect
    wanted: Wanted


OPENAI = OpenAI()
AZURE = azure.Azure()
ANTHROPIC = Anthropic()
GEMINI = gemini.Gemini()

EXACT = {
    ("POST", "/v1/chat/completions"): Route(OPENAI, "answer"),
    ("POST", "/v1/messages"): Route(ANTHROPIC, "answer"),
    ("POST", "/openai/v1/chat/completions"): Route(AZURE, "answer"),
    ("GET", "/openai/v1/models"): Route(AZURE, "models"),
    ("GET", "/openai/models"): Route(AZURE, "models"),
    ("GET", "/v1beta/models"): Route(GEMINI, "models"),
    ("PUT", "/demo/storm"): Route(OPENAI, "weather"),
}
PATTERNS = ((azure.DEPLOYMENT_PATH, AZURE), (gemini.PATH, GEMINI))
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
        for pattern, dialect in PATTERNS:
            if pattern.fullmatch(request.path):
                return Route(dialect, "answer")
    if request.method == "GET" and request.path == "/v1/models":
        return Route(_by_headers(request), "models")
    return Route(next((vendor for start, vendor in BEGINNINGS if request.path.startswith(start)), OPENAI), "nothing")


def _by_headers(request: Request) -> Dialect:
    if "anthropic-version" in request.headers:
        return ANTHROPIC
    return GEMINI if "x-goog-api-key" in request.headers else OPENAI
