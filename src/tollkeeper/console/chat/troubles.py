"""Why there is no answer, or only a part of one, in people's words: what happened, and what to do next.

What was charged stands beside it: the page asks for the receipt of every call that has one.
"""

from collections.abc import Mapping

import msgspec

from tollkeeper.console.chat.events import SaidError
from tollkeeper.console.visit import Visit
from tollkeeper.console.words import marked
from tollkeeper.ports import Failure

TOP_UP, USAGE, SIGN_IN = "/top-up", "/usage", "/sign-in?next=/chat"

_SHORT = marked("Your balance is too small for this. Top up, choose a cheaper model, or begin a new chat.")
_LIMITED = marked("You have sent more calls in a minute than your limit allows. Wait a moment, then send again.")
_BUSY = marked("We cannot take this just now. Wait a moment, then send again.")
_KEY_ENDED = marked("Your session is over, and its chat with it. Sign in again to go on.")
_NO_PROVIDER = marked("No provider of this model can answer just now. Wait a moment, or try another model.")
_BROKEN = marked("The answer broke off before its end. Send again if you need all of it.")
_NOT_TAKEN = marked("The model's provider did not take this. Change it, or try another model.")
_TOO_LARGE = marked("This is more than the gateway takes at once. Begin a new chat, or send fewer pictures.")

# By the gateway's codes. Those of 429 and of 500 and more that are not here have words by their status.
WORDS: Mapping[str, str] = {
    "insufficient_quota": _SHORT,
    "insufficient_account_quota": _SHORT,
    "insufficient_key_quota": _SHORT,
    "account_in_debt": marked("Your account owes quota, and takes no new calls until that is paid. Top up."),
    "rate_limit_exceeded": _LIMITED,
    "model_not_found": marked("This model cannot be used any more. Choose another one."),
    "provider_unavailable": _NO_PROVIDER,
    "provider_rejected": _NOT_TAKEN,
    "context_length_exceeded": marked(
        "This chat has grown longer than the model can read. Begin a new chat, or choose a model that reads more."
    ),
    "invalid_parameter": _NOT_TAKEN,
    "loop_detected": _NO_PROVIDER,
    "slow_body": _BUSY,
    "answer_too_large": marked("The answer is more than can be shown at once. Ask for less."),
    "unsupported_parameter": _NOT_TAKEN,
    "body_too_large": _TOO_LARGE,
    "request_too_large": _TOO_LARGE,
    "stream_broken": _BROKEN,
    "node_stopping": _BROKEN,
    "time_limit_reached": marked("The answer took as long as one may, and was ended."),
    "missing_api_key": _KEY_ENDED,
    "invalid_api_key": _KEY_ENDED,
    "revoked_api_key": _KEY_ENDED,
    "expired_api_key": _KEY_ENDED,
    "paused_api_key": _KEY_ENDED,
    "account_disabled": marked("Your account is disabled. Write to support."),
    "ip_banned": marked("Calls from this address are refused for a time. Write to support if you think that wrong."),
}
LINKS: Mapping[str, tuple[str, str]] = {
    _SHORT: (TOP_UP, marked("Top up")),
    WORDS["account_in_debt"]: (TOP_UP, marked("Top up")),
    _KEY_ENDED: (SIGN_IN, marked("Sign in")),
}
FAILURES: Mapping[Failure, str] = {
    Failure.UNREACHABLE: marked("Our gateway cannot be reached. Nothing was sent. Wait a moment, then send again."),
    Failure.SILENT: marked("Our gateway did not answer in time. Look at your usage before you send again."),
    Failure.STALLED: _BROKEN,
    Failure.BROKEN: _BROKEN,
}
ALREADY_TALKING = marked("Another answer to you is still on its way. Stop it, or wait for its end.")
NOT_READ = marked("This is more than a chat can send at once, or not what this page sends. Begin a new chat.")
# Of a provider's own words; what is longer is no sentence.
DETAIL_CHARACTERS_MOST = 500


class ChatTrouble(msgspec.Struct, frozen=True, omit_defaults=True):
    words: str
    # What the gateway or the provider says, where that tells more.
    detail: str = ""
    href: str = ""
    link: str = ""


def trouble(visit: Visit, words: str, *, detail: str = "") -> ChatTrouble:
    href, link = LINKS.get(words, ("", ""))
    return ChatTrouble(visit.gettext(words), detail[:DETAIL_CHARACTERS_MOST], href, visit.gettext(link) if link else "")


def trouble_of(visit: Visit, error: SaidError, status: int) -> ChatTrouble:
    """`status` is that of the gateway's answer; within a stream, 200."""
    words = WORDS.get(error.code or "")
    if words is not None and words is not _NOT_TAKEN:
        return trouble(visit, words)
    if words is None and (status >= 500 or status == 429):
        return trouble(visit, _BUSY if status != 429 else _LIMITED)
    # Some refusals have the provider's own code.
    return trouble(visit, words or (_NOT_TAKEN if status < 500 and status != 200 else _BROKEN), detail=error.message)
