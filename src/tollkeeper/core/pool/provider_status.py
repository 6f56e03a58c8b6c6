"""What a provider's status means: for its account, and for the caller.

Rules of this file
1. What a caller's request can bring about is not held against the account. Statuses that nobody knows are about the
   request if they are of the four hundreds.
2. The caller hears a provider's own words only where they are surely about the request. What may be about our account
   is tried elsewhere first; where every account refuses so, the caller is told of it in our words.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tollkeeper.core.pool.health import Trouble


class ShownAs(StrEnum):
    """What the caller hears when no account did better."""

    ITS_WORDS = "its words"  # 400, as the provider puts it; no other account is asked.
    REFUSED = "refused"  # 400 in our words, if every account asked refuses so.
    TOO_LARGE = "too large"  # Likewise: the request exceeds what the account may be asked at once.
    LATER = "later"  # 503.


class Meaning(msgspec.Struct, frozen=True):
    trouble: Trouble | None
    shown_as: ShownAs


REJECTED = Meaning(None, ShownAs.ITS_WORDS)
# By a filter, a law, a permission that the account lacks: nobody knows, and the caller cannot change the account.
REFUSED = Meaning(None, ShownAs.REFUSED)
TOO_LARGE = Meaning(None, ShownAs.TOO_LARGE)
PASSING = Meaning(None, ShownAs.LATER)
CREDENTIAL = Meaning(Trouble.CREDENTIAL, ShownAs.LATER)
BUSY = Meaning(Trouble.BUSY, ShownAs.LATER)
FAILED = Meaning(Trouble.SERVER, ShownAs.LATER)

MEANINGS: Mapping[int, Meaning] = {
    400: REJECTED,
    401: CREDENTIAL,
    402: CREDENTIAL,
    403: REFUSED,
    404: PASSING,  # The model, under the name it has at this account.
    405: PASSING,  # The account's address.
    407: FAILED,  # The proxy on our own way out.
    408: PASSING,  # A slow upload.
    409: PASSING,
    413: REJECTED,
    421: PASSING,
    422: REJECTED,
    425: PASSING,
    429: BUSY,
    451: REFUSED,
    499: PASSING,  # Somebody hung up, as a proxy of the provider's saw it.
    501: REFUSED,
}
# Where there is no row: by the hundred. 5xx are also the proxies' own (Cloudflare's 520 to 530) and 529, overloaded.
HUNDREDS: Mapping[int, Meaning] = {3: PASSING, 4: REFUSED}
BUSY_IF_IT_SAYS_WHEN = frozenset({503, 529})
# What a status means may depend on the words.
SPOKEN = frozenset({402, 429}) | {status for status, meaning in MEANINGS.items() if meaning is REJECTED}

# OpenAI, with 429: "Request too large for gpt-4o ... on tokens per min (TPM): Limit 30000, Requested 40000." An account
# that has used up its minute says "Rate limit reached for ...: Limit 30000, Used 29937, Requested 385."
# OpenRouter, with 402: "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, ..."
_TOO_LARGE = re.compile(
    rb'"message"\s*:\s*"(?:Request too large|This request requires more credits, or fewer max_tokens)'
)
# OpenAI, with 429, of an account that has nothing left: "You exceeded your current quota, please check your plan ..."
_NOTHING_LEFT = re.compile(rb'"(?:code|type)"\s*:\s*"insufficient_quota"')


def meaning_of(status: int, body: bytes = b"", *, says_when: bool = False) -> Meaning:
    """`says_when`: with Retry-After."""
    if status in {402, 429} and _TOO_LARGE.search(body):
        return TOO_LARGE
    if status == 429 and _NOTHING_LEFT.search(body):
        return CREDENTIAL
    if status in BUSY_IF_IT_SAYS_WHEN and says_when:
        return BUSY
    return MEANINGS.get(status) or HUNDREDS.get(status // 100, FAILED)
