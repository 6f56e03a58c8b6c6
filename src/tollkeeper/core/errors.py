"""Refusals: each a noun with a status, a code and words for the person who meets it.

    GatewayError
    ├── BadRequest            400   MalformedHeader · InvalidHeader · UnexpectedBody · MalformedBody ·
    │                               MissingParameter · InvalidParameter · UnsupportedParameter · CompressedBody ·
    │                               SlowBody · LoopDetected · ProviderRejected · AnswerWouldBeTooLarge ·
    │                               AnswerTooLarge · ContextLengthExceeded · PromptTooLong · InputAboveMaxCharge
    ├── Unauthorized          401   KeyMissing · KeysDiffer · KeyUnknown · KeyRevoked · KeyExpired · KeyPaused
    ├── Forbidden             403   IpBanned · AccountDisabled · KeyNotForThisNetwork · InsufficientQuota
    │                               InsufficientQuota: AccountShort · KeyShort · KeyBudgetExceeded · AccountInDebt
    ├── NotFound              404   EndpointNotFound · ResponsesNotStored · AddressUnknown · ModelNotFound ·
    │                               CallNotFound
    ├── MethodNotAllowed      405
    ├── MadeBefore            409   CallStillRunning · CallRepeated
    ├── BodyTooLarge          413
    ├── IdempotencyKeyReused  422
    ├── RateLimited           429
    ├── InternalFailure       500   StreamBroken
    ├── Unavailable           503   StoreUnavailable · TooMuchInReading · QueueFull · WorkerFenced ·
    │                               ProviderUnavailable · TimeLimitReached · NodeStopping · TooMuchToMeasure ·
    │                               JournalUnavailable
    └── EdgeTimeout           524

Rules of this file
1. The docstring of a refusal is its message: what happened, and what to do next.
2. Only the edge turns refusals into HTTP. The reference page of errors is generated from here.
3. What goes wrong beside the calls is for operators: `ForOperators`.
"""

import inspect
from collections.abc import Mapping
from typing import ClassVar

PARAM_CHARACTERS_MOST = 100


class ForOperators(Exception):
    """Its message never quotes what a caller sent, so it is logged and kept as it is."""


class GatewayError(Exception):
    """The call could not be served."""

    status: ClassVar[int] = 500
    type: ClassVar[str] = "server_error"
    code: str = "internal_error"
    retry_after_seconds: int | None = None
    # Said to SDKs, which would otherwise send every 5xx again by themselves, and pay each time.
    should_retry: ClassVar[bool | None] = None
    # Whether it is the caller's own mistake, of which too many get its IP banned.
    counts_as_invalid: ClassVar[bool] = False
    # Account and key, where the key is known and was not let in.
    whose: tuple[int, int] | None = None

    def __init__(self, message: str | None = None, *, param: str | None = None) -> None:
        self.message = message or " ".join(inspect.cleandoc(type(self).__doc__ or "").split())
        self.param = param
        super().__init__(self.message)


class BadRequest(GatewayError):
    """The request is malformed. Correct it before sending it again."""

    status = 400
    type = "invalid_request_error"
    code = "bad_request"
    counts_as_invalid = True


class MalformedHeader(BadRequest):
    """A request header is malformed. Send each header once, in plain ASCII."""

    code = "malformed_header"


class InvalidHeader(BadRequest):
    """A request header has a value that cannot be used. Nothing was sent or charged."""

    code = "invalid_header"

    def __init__(self, header: str, wanted: str) -> None:
        super().__init__(f"The header '{header}' {wanted}. Nothing was sent or charged.", param=header)


class UnexpectedBody(BadRequest):
    """This endpoint takes no request body. Send the request without one."""

    code = "unexpected_body"


class MalformedBody(BadRequest):
    """The request body is not the JSON object that this endpoint takes. Correct it before sending it again."""

    code = "malformed_body"


class MissingParameter(BadRequest):
    """A required parameter is missing."""

    code = "missing_parameter"

    def __init__(self, param: str) -> None:
        super().__init__(f"The parameter '{param}' is required. Add it to the request body.", param=param)


class InvalidParameter(BadRequest):
    """A parameter has a value that cannot be used."""

    code = "invalid_parameter"

    def __init__(self, param: str, wanted: str) -> None:
        super().__init__(f"The parameter '{param}' {wanted}. Correct it before sending it again.", param=param)


class UnsupportedParameter(BadRequest):
    """A parameter is not listed, or asks for what this model's provider cannot do. Nothing was sent or charged."""

    code = "unsupported_parameter"

    def __init__(self, param: str, because: str) -> None:
        shown = param[:PARAM_CHARACTERS_MOST]
        super().__init__(f"The parameter '{shown}' cannot be honoured: {because}. Nothing was charged.", param=shown)


class CompressedBody(BadRequest):
    """Compressed request bodies are not accepted. Send the body without Content-Encoding."""

    code = "compressed_body"


class SlowBody(BadRequest):
    """The request body did not arrive in time. Check the connection, then send it again."""

    code = "slow_body"
    counts_as_invalid = False


class LoopDetected(BadRequest):
    """This call was sent by this very service: one of its provider accounts has its own address for a base address."""

    code = "loop_detected"
    counts_as_invalid = False


class ContextLengthExceeded(BadRequest):
    """The messages are longer than what the model can read. Nothing was sent, and nothing was charged. Shorten them, or
    use a model with a longer context."""

    code = "context_length_exceeded"

    def __init__(self, context_tokens: int, sent_tokens: int, *, param: str = "messages") -> None:
        super().__init__(
            f"This model's maximum context length is {context_tokens} tokens. However, your messages resulted in "
            f"{sent_tokens} tokens. Please reduce the length of the messages. Nothing was sent, and nothing charged.",
            param=param,
        )


class PromptTooLong(BadRequest):
    """The same in Messages, in the words by which agents notice that they have to make a conversation shorter. Nothing
    was sent, and nothing was charged."""

    code = "context_length_exceeded"

    def __init__(self, context_tokens: int, sent_tokens: int) -> None:
        super().__init__(
            f"prompt is too long: {sent_tokens} tokens > {context_tokens} maximum. Nothing was sent, and nothing "
            f"charged.",
            param="messages",
        )


class AnswerWouldBeTooLarge(BadRequest):
    """The answer could be larger than 64 MB, more than is passed on in one piece. Nothing was sent, and nothing was
    charged. Ask for fewer choices (n), fewer tokens (max_tokens) or fewer top_logprobs, or stream the answer."""

    code = "answer_would_be_too_large"


class AnswerTooLarge(BadRequest):
    """The provider's answer is larger than what is passed on in one piece, and cannot be shown. The provider has made
    it, so it was charged as far as it was counted. Ask for less, or stream the answer."""

    code = "answer_too_large"
    should_retry = False
    counts_as_invalid = False


class InputAboveMaxCharge(BadRequest):
    """What was sent costs more than the header x-max-charge-usd allows: without any answer, or with one that cannot be
    made to cost less, such as an image. Nothing was sent on or charged. Send less, ask for less, or allow more."""

    code = "input_above_max_charge"
    should_retry = False
    counts_as_invalid = False

    def __init__(self, costs: str, most_usd: str) -> None:
        super().__init__(
            f"{costs}, and x-max-charge-usd allows {most_usd} USD. Nothing was charged. Ask for less, or allow more.",
            param="x-max-charge-usd",
        )


class ProviderRejected(BadRequest):
    """The model's provider rejected the request. Nothing was charged. Correct it before sending it again."""

    code = "provider_rejected"
    counts_as_invalid = False

    def __init__(self, message: str | None = None, *, param: str | None = None, code: str | None = None) -> None:
        """With what the provider itself said, where that can be told."""
        super().__init__(message and f"{message} (Rejected by the provider; nothing was charged.)", param=param)
        self.code = code or self.code


class Unauthorized(GatewayError):
    """The API key was not accepted."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"
    counts_as_invalid = True


class KeyMissing(Unauthorized):
    """No API key was given. Send the header 'Authorization: Bearer <API_KEY>': the word Bearer, one space, the key."""

    code = "missing_api_key"


class KeysDiffer(Unauthorized):
    """Two different API keys were given, in the headers x-api-key and Authorization. Send one of them."""

    code = "different_api_keys"


class KeyUnknown(Unauthorized):
    """This API key is not known. Check that the whole key was copied, or create one in the console."""


class KeyRevoked(Unauthorized):
    """This API key was revoked. Create a new one in the console."""

    code = "revoked_api_key"


class KeyExpired(Unauthorized):
    """This API key expired. Create a new one in the console."""

    code = "expired_api_key"


class KeyPaused(Unauthorized):
    """This API key is paused. Nothing was charged. Stop sending; whoever has the account can resume the key in the
    console, on the page of its keys."""

    code = "paused_api_key"


class Forbidden(GatewayError):
    """The caller is not authorised for this."""

    status = 403
    type = "permission_error"
    code = "forbidden"


class IpBanned(Forbidden):
    """This IP is banned for a time. Sending again will not help: stop, and write to support if you think it wrong."""

    code = "ip_banned"
    should_retry = False


class AccountDisabled(Forbidden):
    """The account of this key is disabled. Sending again will not help; write to support."""

    code = "account_disabled"


class KeyNotForThisNetwork(Forbidden):
    """This API key may not be used from this network. Sending again will not help: use it from a network that its owner
    allowed, or let them allow this one in the console."""

    code = "network_not_allowed"
    should_retry = False


class InsufficientQuota(Forbidden):
    """There is too little quota for this call. Sending it again will not help: stop, top up or ask for less."""

    type = "insufficient_quota"
    code = "insufficient_quota"
    should_retry = False


class AccountShort(InsufficientQuota):
    """The account's balance is too small for this call. Sending it again will not help: top up or ask for less."""

    code = "insufficient_account_quota"


class KeyShort(InsufficientQuota):
    """What is left of this key's own quota is too small for this call. Sending it again will not help: raise the key's
    quota in the console, or ask for less. The account's balance is another matter."""

    code = "insufficient_key_quota"


class KeyBudgetExceeded(InsufficientQuota):
    """This key's daily or monthly budget is too small for this call. Sending it again will not help before the next day
    or month begins (UTC): raise the budget in the console, or ask for less."""

    code = "key_budget_exceeded"


class AccountInDebt(InsufficientQuota):
    """The account owes quota, and takes no new calls until that is paid. Sending again will not help: top up."""

    code = "account_in_debt"


class NotFound(GatewayError):
    """There is nothing here."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"
    counts_as_invalid = True


class EndpointNotFound(NotFound):
    """There is no such endpoint here. The message names what is there instead."""

    code = "endpoint_not_found"


class ResponsesNotStored(NotFound):
    """Responses are not stored here: there is none to fetch, list, cancel, compact or delete. Keep what POST
    /v1/responses answers, and send the whole conversation as its input."""

    code = "responses_not_stored"


class AddressUnknown(NotFound):
    """This service does not answer to that host name. Check the base address."""

    code = "address_unknown"


class ModelNotFound(NotFound):
    """There is no such model for this key. GET /v1/models lists those there are."""

    code = "model_not_found"

    def __init__(self, model_id: str, reason: str = "this key can use no model of that name") -> None:
        super().__init__(
            f"The model '{model_id[:128]}' cannot be used here: {reason}. GET /v1/models lists those there are.",
            param="model",
        )


class CallNotFound(NotFound):
    """This key has made no call with that id that was held for. Calls that were refused before that have no receipt;
    those of another key are shown to that key alone."""

    code = "call_not_found"
    counts_as_invalid = False


class MethodNotAllowed(GatewayError):
    """This endpoint does not take that method. Sending the same request again will not help."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"
    counts_as_invalid = True

    def __init__(self, allowed: tuple[str, ...]) -> None:
        methods = " or ".join(allowed)
        super().__init__(
            f"This endpoint takes {methods} only. Sending the same request again will not help: stop and "
            f"correct the method."
        )
        self.allowed = allowed


class MadeBefore(GatewayError):
    """This call was made before. It is not made again."""

    status = 409
    type = "idempotency_error"
    code = "made_before"
    # SDKs would send every 409 again.
    should_retry = False

    def __init__(self, receipt: Mapping[str, object] | None = None) -> None:
        """`receipt`: of the call that was made before, where this caller may know of it."""
        super().__init__()
        self.receipt = receipt


class CallStillRunning(MadeBefore):
    """This call was made before and is still running. It is not made a second time, and this one costs nothing. Its
    answer goes to whoever made it first; GET /v2/calls/{id} tells what became of it."""

    code = "call_running"


class CallRepeated(MadeBefore):
    """This call was made before, within 24 hours, and was charged. It is not made again, and this one costs nothing.
    Its answer is not kept. To have it made again, send it with another Idempotency-Key."""

    code = "call_repeated"


class IdempotencyKeyReused(GatewayError):
    """This Idempotency-Key was sent within 24 hours with another body, or to another endpoint, and that call runs or
    was charged. Nothing was charged now. Use a new key for each call, and the same one only to send it again."""

    status = 422
    type = "idempotency_error"
    code = "idempotency_key_reused"
    should_retry = False
    counts_as_invalid = True


class BodyTooLarge(GatewayError):
    """The request body is too large. Make it smaller."""

    status = 413
    type = "invalid_request_error"
    code = "body_too_large"
    counts_as_invalid = True

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"The request body is larger than the {limit_bytes:,} bytes allowed here. Make it smaller.")


class RateLimited(GatewayError):
    """More calls were made than the limit allows. This one was not counted. Wait as Retry-After says, then go on."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"

    def __init__(self, message: str | None = None, *, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class InternalFailure(GatewayError):
    """Something failed on our side. Give support the x-request-id of this answer; its receipt says what was charged."""


class StreamBroken(InternalFailure):
    """The provider broke off in the middle of its answer. What was delivered until then is charged. The answer is not
    complete: send the call again if you need all of it."""

    type = "upstream_error"
    code = "stream_broken"


class Unavailable(GatewayError):
    """The service is unavailable for a moment. Nothing was charged. Try again shortly."""

    status = 503
    code = "unavailable"
    retry_after_seconds: int | None = 2


class StoreUnavailable(Unavailable):
    """A store that this call needs does not answer. Your key was not judged, nothing was charged. Try again shortly."""

    code = "store_unavailable"


class TooMuchInReading(Unavailable):
    """Too many large requests are being read right now. Nothing was charged. Try again shortly."""

    code = "too_much_in_reading"


class TooMuchToMeasure(Unavailable):
    """More audio files are waiting to be measured than this node can take. Nothing was charged. Try again shortly."""

    code = "too_much_to_measure"


class QueueFull(Unavailable):
    """More calls are waiting than this node can book in time. Nothing was charged. Try again shortly."""

    code = "queue_full"


class WorkerFenced(Unavailable):
    """This process was taken for dead and may book no more calls. Nothing was charged. Try again shortly."""

    code = "worker_fenced"


class JournalUnavailable(Unavailable):
    """This node has no room to write down what calls cost, so it takes none. Nothing was sent or charged. Try again
    shortly."""

    code = "journal_unavailable"


class ProviderUnavailable(Unavailable):
    """No provider could answer this call just now. Nothing was charged. Try again shortly."""

    code = "provider_unavailable"


class TimeLimitReached(Unavailable):
    """The call ran for as long as a call may, and was ended. What was delivered until then is charged, or the input
    alone where nothing was. Ask for less at once, or use streaming on the main address."""

    code = "time_limit_reached"
    retry_after_seconds = None
    should_retry = False


class NodeStopping(Unavailable):
    """This node could not carry the call to its end. What was delivered until then is charged, and nothing where
    nothing was. Send the call again: another node will take it."""

    code = "node_stopping"


class EdgeTimeout(GatewayError):
    """524: A timeout occurred. Calls that are not streamed are cut after a while on this address. The call goes on at
    the provider and will be charged, so sending it again would be paid again. Use streaming, which is not cut."""

    status = 524
    type = "timeout_error"
    code = "edge_timeout"
    should_retry = False
