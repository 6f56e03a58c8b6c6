"""What of a call is told, by the names of OpenTelemetry's semantic conventions for generative AI (status: development).

Rules of this file
1. What a value can be was written by us or by an operator: endpoints, models of the catalog, vendors, our own codes.
   No caller and no provider can make one up.
2. A gateway is both sides of the conventions: `server` to its callers, `client` of its providers.
"""

from collections.abc import Iterator, Mapping

from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.metrics.calls import BY_CODE, UNITS, CallOutcome
from tollkeeper.relay.dispatch.attempt import REFUSED, Attempt
from tollkeeper.relay.ended import EndedCall

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FIRST_CHUNK_SECONDS = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 (the kind of a model's tokens)
ERROR = "error.type"
STATUS = "http.response.status_code"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
# What the conventions have no name for.
REQUEST_ID = "tollkeeper.request_id"
ADDRESS = "tollkeeper.address"
ENDPOINT = "tollkeeper.endpoint"
ENDING = "tollkeeper.ending"
PROVIDER_ACCOUNT = "tollkeeper.provider_account"

# By the path of what is relayed. The conventions name the first two; they have no word for the others.
CHAT, EMBEDDINGS = "chat", "embeddings"
OPERATIONS: Mapping[str, str] = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": CHAT,
    "/v1/responses": CHAT,
    "/v1/embeddings": EMBEDDINGS,
    "/v1/images/generations": "image_generation",
    "/v1/images/edits": "image_edit",
    "/v1/audio/speech": "speech",
    "/v1/audio/transcriptions": "transcription",
    "/v1/audio/translations": "translation",
}
# By our names of vendors, those of the conventions.
PROVIDERS: Mapping[str, str] = {
    "openai": "openai",
    "azure": "azure.ai.openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gemini",
}
# Of calls that no provider account was asked for.
OURSELVES = "tollkeeper"
# What went wrong and is no caller's doing.
FAULTS = frozenset({CallOutcome.CUT, CallOutcome.PROVIDER, CallOutcome.FAILED})
# How a call ends by its provider's doing.
BROKEN_ENDINGS = frozenset({Ending.UPSTREAM_BROKE, Ending.TIME_LIMIT})


def provider_of(attempt: Attempt) -> str:
    return OURSELVES if attempt.provider is None else PROVIDERS.get(attempt.provider.vendor, OURSELVES)


def answering_provider(call: EndedCall) -> str:
    """The vendor that was asked last."""
    return provider_of(call.attempts[-1]) if call.attempts else OURSELVES


def is_fault(call: EndedCall) -> bool:
    """Whether the call failed, and not by its caller's doing."""
    return BY_CODE.get(call.code, CallOutcome.REFUSED) in FAULTS


def error_of_attempt(attempt: Attempt, ending: Ending) -> str | None:
    """What an attempt failed with: the status of a refusal, or in our words. None where it did not fail."""
    if attempt.outcome == REFUSED and attempt.status is not None:
        return str(attempt.status)
    if attempt.outcome:
        return attempt.outcome
    return ending.value if ending in BROKEN_ENDINGS else None


def tokens_of(call: EndedCall) -> Usage | None:
    """The model tokens that were charged; None where nothing was, or it is priced by something else."""
    if call.settled is None or call.settled.kind in UNITS:
        return None
    usage = call.settled.charge.usage
    return usage if usage.input_units or usage.output_units else None


def timed_attempts(call: EndedCall) -> Iterator[tuple[Attempt, float]]:
    """Each attempt and the seconds it took. The one that has no end of its own ended with its call."""
    if call.settled is None:
        return
    open_seconds = call.settled.provider_seconds
    for attempt in call.attempts:
        if attempt.ms is not None:
            open_seconds -= attempt.ms / 1_000
    for attempt in call.attempts:
        yield attempt, max(0.0, open_seconds) if attempt.ms is None else attempt.ms / 1_000
