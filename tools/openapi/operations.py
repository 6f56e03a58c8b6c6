"""What each path of the route table is for: one row each. A route without a row fails the generation.

Statuses: what can refuse a call of that kind, as ARCHITECTURE.md has it under "One call".
"""

from collections.abc import Mapping

import msgspec

PAID = (400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503, 524)
LOOKED_UP = (400, 401, 403, 404, 405, 429, 500, 503)
PUBLIC = (400, 403, 404, 405, 500, 503)

JSON_TYPE, FORM_TYPE = "application/json", "multipart/form-data"
EVENTS_TYPE, ANY_TYPE = "text/event-stream", "application/octet-stream"


class PathInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A path: who asks for it, in one line what for, and the names of the schemas of what is sent and answered."""

    tag: str
    summary: str
    sent: str | None = None
    sent_type: str = JSON_TYPE
    answered: str | None = None
    answered_type: str = JSON_TYPE
    streams: bool = False
    statuses: tuple[int, ...] = LOOKED_UP
    notes: str = ""


def _paid(summary: str, sent: str, answered: str, *, streams: bool = False, notes: str = "") -> PathInfo:
    return PathInfo(
        tag="Models", summary=summary, sent=sent, answered=answered, streams=streams, statuses=PAID, notes=notes
    )


def _uploaded(summary: str, sent: str, answered: str) -> PathInfo:
    return msgspec.structs.replace(_paid(summary, sent, answered), sent_type=FORM_TYPE)


def _looked_up(tag: str, summary: str, answered: str, notes: str = "") -> PathInfo:
    return PathInfo(tag=tag, summary=summary, answered=answered, notes=notes)


SUBSCRIPTION = _looked_up("Balance", "What this key can spend in all, as chat clients ask for it", "Subscription")
USAGE = _looked_up(
    "Balance",
    "What this key has spent, as chat clients ask for it",
    "BilledUsage",
    "Between `start_date` and `end_date` (the day after the last), days of UTC.",
)
DEPRECATED_BALANCE = PathInfo(
    tag="Balance", summary="The balance of the key in the body", sent="KeyRequest", answered="DeprecatedBalance"
)
PATHS: Mapping[str, PathInfo] = {
    "/v1/chat/completions": _paid(
        "A chat completion, whole or streamed", "ChatCompletionRequest", "ChatCompletion", streams=True
    ),
    "/v1/messages": _paid("Anthropic's Messages, for every chat model", "MessagesRequest", "Message", streams=True),
    "/v1/messages/count_tokens": PathInfo(
        tag="Models",
        summary="How many tokens an order of Messages has; free",
        sent="CountTokensRequest",
        answered="TokenCount",
        statuses=PAID,
    ),
    "/v1/responses": _paid(
        "The Responses protocol, for every chat model",
        "ResponsesRequest",
        "Response",
        streams=True,
        notes="Nothing is stored: send the whole conversation as `input`.",
    ),
    "/v1/embeddings": _paid("Embeddings", "EmbeddingsRequest", "Embeddings"),
    "/v1/images/generations": _paid("Images", "ImageGenerationRequest", "Images"),
    "/v1/images/edits": _uploaded("Edited images", "ImageEditRequest", "Images"),
    "/v1/audio/speech": PathInfo(
        tag="Models",
        summary="Speech, sent on as it is made",
        sent="SpeechRequest",
        answered_type=ANY_TYPE,
        statuses=PAID,
    ),
    "/v1/audio/transcriptions": _uploaded("The text of a recording", "AudioRequest", "Transcript"),
    "/v1/audio/translations": _uploaded("The text of a recording, in English", "AudioRequest", "Transcript"),
    "/v1/models": _looked_up(
        "Models",
        "The models that this key can use",
        "ModelList",
        "With the header `anthropic-version` it is answered in Anthropic's form.",
    ),
    "/v1/models/{model}": _looked_up("Models", "One of them", "Model", "Ids may have slashes in them."),
    "/v1/dashboard/billing/subscription": SUBSCRIPTION,
    "/dashboard/billing/subscription": SUBSCRIPTION,
    "/v1/dashboard/billing/usage": USAGE,
    "/dashboard/billing/usage": USAGE,
    "/v2/account/balance": _looked_up("Balance", "The account's balance", "Balance"),
    "/v2/token/balance": _looked_up("Balance", "This key's balance", "Balance"),
    "/v2/quote": PathInfo(
        tag="Paying", summary="What a call would cost; free", sent="QuoteRequest", answered="Quote", statuses=PAID
    ),
    "/v2/calls/{id}": _looked_up("Paying", "The receipt of a call of this key", "Call"),
    "/api/token": DEPRECATED_BALANCE,
    "/api/v1/token": DEPRECATED_BALANCE,
    "/prices": PathInfo(tag="Prices", summary="All prices, for people", answered_type="text/html", statuses=PUBLIC),
    "/prices.json": PathInfo(
        tag="Prices",
        summary="All prices, as a JSON Feed",
        answered="PriceFeed",
        answered_type="application/feed+json",
        statuses=PUBLIC,
    ),
    "/prices.atom": PathInfo(
        tag="Prices", summary="News of prices, as an Atom feed", answered_type="application/atom+xml", statuses=PUBLIC
    ),
}
