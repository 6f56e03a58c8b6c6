"""What staff type when they look for a customer, read into what can be looked for.

Rules of this file
1. One text fits in several ways, and whoever fits in one of them is found: `1234` is an account's number, the beginning
   of a word of a name, and the end of a key.
2. A key that was pasted whole is looked for by its hint; the text itself goes no further.
"""

import re

from tollkeeper.core.keys import has_key_form, hint
from tollkeeper.ports.customers.roster import AccountSearch

WORDS_MOST = 10
# What no account has: of a text that nothing can fit, nobody is found, rather than everybody.
NOBODY = 0

_HINT = re.compile(r"(sk-[0-9A-Za-z])?(?:…|\.{2,3})?([0-9A-Za-z]{4})")
_NUMBER = re.compile(r"[0-9]{1,18}")


def read_search(text: str) -> AccountSearch:
    """An empty text is everybody."""
    text = text.strip()
    if not text:
        return AccountSearch()
    if has_key_form(text):
        text = hint(text)
    looks_like = _HINT.fullmatch(text)
    return AccountSearch(
        words=re.findall(r"\w+", text)[:WORDS_MOST] or None,
        email_start=text.lower() if text.isascii() and " " not in text else None,
        hint_end=looks_like[2] if looks_like else None,
        hint_start=looks_like[1] if looks_like else None,
        number=int(text) if _NUMBER.fullmatch(text) else NOBODY,
    )
