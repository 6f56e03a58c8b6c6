"""E-mail addresses: one form for each, so that nobody has two logins, or another's, by writing it differently.

Rules of this file
1. An e-mail is ASCII: look-alike letters of other scripts would make strangers' addresses out of one's own.
2. Upper and lower case are the same.
3. The name is a dot-atom without `=` and `?`: of these, mail programs make encoded words, and with them another
   address than the one that was checked.
"""

import re

from tollkeeper.core.people.logins import LoginRefusal

LENGTH_MOST = 254

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ATOM = r"[a-z0-9!#$%&'*+/^_`{|}~-]+"
_FORM = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+")


class NotAnEmail(LoginRefusal):
    """This is not an e-mail that we can write to. It must read name@example.com, in plain letters."""


def canonical(text: str) -> str:
    """The one form of an e-mail. Raise NotAnEmail."""
    email = text.strip().lower()
    # Judged as it was sent: some letters of other scripts become plain ones when they are lower-cased.
    if not text.isascii() or len(email) > LENGTH_MOST or not _FORM.fullmatch(email):
        raise NotAnEmail
    return email
