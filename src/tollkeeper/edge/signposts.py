"""Signposts: what is told to whoever asks for an endpoint that is not there.

Rules of this file
1. What was asked is named if it looks like a path; what is there instead is named in any case.
2. Nothing else of a request is repeated: a path may have anything in it.
"""

import re
from collections.abc import Collection, Mapping

from tollkeeper.core.errors import EndpointNotFound, NotFound, ResponsesNotStored

CHARACTERS_MOST = 100
# Beginnings of what programs call; everything else is read by people.
CALLED = ("/v1/", "/v2/")
CHAT = "POST /v1/chat/completions"
MESSAGES = "POST /v1/messages"
# Paths of responses that others store.
STORED = "/v1/responses/"
# What other services have, or had, and what to call for the same.
INSTEAD: Mapping[str, str] = {
    "/v1/completions": f"It is the older form of chat: use {CHAT}.",
    "/v1/engines": "Models are listed by GET /v1/models.",
    "/v1/edits": f"It is the older form of chat: use {CHAT}.",
    "/v1/messages/batches": f"Calls are answered at once here: use {MESSAGES}.",
    "/v1/messages": f"Of Anthropic's Messages there are {MESSAGES} and {MESSAGES}/count_tokens.",
    "/v1/images/variations": "Images are made by POST /v1/images/generations, and changed by POST /v1/images/edits.",
    "/v1/moderations": f"Nothing is moderated apart from a model's own answer: use {CHAT}.",
    "/v1/assistants": f"Nothing is kept between calls here: use {CHAT}, and send the conversation along.",
    "/v1/threads": f"Nothing is kept between calls here: use {CHAT}, and send the conversation along.",
    "/v1/files": "No files are kept here: send what a call needs along with it.",
    "/v1/batches": f"Calls are answered at once here: use {CHAT}.",
    "/v1/fine_tuning": "Models are not trained here.",
    "/v1/realtime": f"There are no sessions here: use {CHAT}, which streams.",
}

_PATH = re.compile(rf"/[A-Za-z0-9._~/:@-]{{0,{CHARACTERS_MOST - 1}}}")
_MORE = re.compile(r"/{2,}")


def endpoint_not_found(method: str, path: str, here: Mapping[str, Collection[str]], there: Collection[str]) -> NotFound:
    """`here`: the paths of this address with their methods; `there`: those of the other addresses."""
    asked = f"{method} {path}" if method.isalpha() and len(method) <= 8 and _PATH.fullmatch(path) else "like that"
    plain = _MORE.sub("/", path).rstrip("/").lower()
    told = f"There is no endpoint {asked} here."
    if plain.startswith(STORED):
        return ResponsesNotStored(f"{told} {ResponsesNotStored().message} Nothing was charged.")
    return EndpointNotFound(f"{told} {_hint(plain, here, there)} Nothing was charged.")


def _hint(plain: str, here: Mapping[str, Collection[str]], there: Collection[str]) -> str:
    return _other_base(plain, here, there) or _instead_of(plain) or _all_of(here)


def _other_base(plain: str, here: Collection[str], there: Collection[str]) -> str | None:
    """Where it is there, by another address."""
    if f"{plain}/".startswith("/v1/v1/"):
        return "The base address has /v1 twice: leave it out where your program adds it by itself."
    if plain in here:
        return f"Ask for {plain}, in small letters and without a slash at its end."
    if f"/v1{plain}" in here:
        return f"There is /v1{plain}: add /v1 to the base address."
    if found := next((known for known in here if known.startswith(CALLED) and plain.endswith(known)), None):
        return f"There is {found}: leave out of the base address what stands before it."
    return "It is served on another address of this service." if plain in there else None


def _instead_of(plain: str) -> str | None:
    return next((words for known, words in INSTEAD.items() if f"{plain}/".startswith(f"{known}/")), None)


def _all_of(here: Mapping[str, Collection[str]]) -> str:
    listed = [f"{method} {known}" for known, methods in here.items() if known.startswith(CALLED) for method in methods]
    return f"There are {', '.join(listed)}." if listed else "There are none for programs on this address."
