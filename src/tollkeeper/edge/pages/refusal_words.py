"""Why a balance cannot be shown, in words that are translated. The first that fits counts."""

from tollkeeper.core.errors import (
    AccountDisabled,
    BadRequest,
    GatewayError,
    IpBanned,
    KeyExpired,
    KeyMissing,
    KeyNotForThisNetwork,
    KeyRevoked,
    MissingParameter,
    RateLimited,
    Unauthorized,
    Unavailable,
)
from tollkeeper.look.words import marked

WORDS: tuple[tuple[type[GatewayError], str], ...] = (
    (MissingParameter, marked("Paste a key first. Nothing was looked up.")),
    (KeyMissing, marked("Paste a key first. Nothing was looked up.")),
    (KeyRevoked, marked("This key was revoked. Make a new one in the console.")),
    (KeyExpired, marked("This key expired. Make a new one in the console.")),
    (
        Unauthorized,
        marked(
            "This key is not known here. Check that you copied all of it: it begins with sk- and has 52 characters. "
            "Attempts with unknown keys are counted, and too many get your IP banned for a time."
        ),
    ),
    (AccountDisabled, marked("The account of this key is disabled. Write to support.")),
    (
        KeyNotForThisNetwork,
        marked("This key may not be used from your network. Its owner can allow it in the console."),
    ),
    (IpBanned, marked("Your IP is banned for a time. Asking again does not help: stop, or write to support.")),
    (
        RateLimited,
        marked("This key was used or looked up too often in the last minute. This one was not counted. Wait a minute."),
    ),
    (
        Unavailable,
        marked("We cannot look it up just now. Your key was not judged, and nothing was charged. Try again shortly."),
    ),
    (BadRequest, marked("This form takes a key and nothing else. Nothing was looked up.")),
)
OTHER = marked(
    "This did not work, and nothing was charged. Try again; if it stays so, give support this id: %(request)s"
)


def words_for(refusal: GatewayError) -> str:
    return next((words for kind, words in WORDS if isinstance(refusal, kind)), OTHER)
