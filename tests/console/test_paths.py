"""A page's address is for ever: people keep it, send it to each other, and have it in mails.

Rules of this file
1. A new page is added to the list. None is ever taken off it.
2. A page that moves keeps its row in the table: a handler that leads to where it is now.
"""

import re

from tollkeeper.console.table import PAGES

# `{}` is whatever stands there: a number, a name.
FOR_EVER = {
    "/",
    "/chat",
    "/chat/calls/{}",
    "/faucet",
    "/forgot",
    "/forgot/sent",
    "/i/{}",
    "/keys",
    "/keys/new",
    "/keys/{}",
    "/keys/{}/revoke",
    "/keys/{}/rotate",
    "/legal/imprint",
    "/legal/privacy",
    "/legal/terms",
    "/logs",
    "/logs.csv",
    "/notices",
    "/partner",
    "/prices",
    "/prices/{}",
    "/reset",
    "/security",
    "/security/close",
    "/security/email",
    "/security/email/confirm",
    "/security/email/sent",
    "/security/passkeys/new",
    "/security/passkeys/{}/remove",
    "/security/second-factor",
    "/sign-in",
    "/sign-up",
    "/sign-up/sent",
    "/statements",
    "/statements.csv",
    "/top-up",
    "/top-up/{}",
    "/usage",
    "/usage.csv",
    "/usage/{}",
    "/verify",
}


def test_no_address_of_a_page_is_ever_taken_away() -> None:
    shown = {re.sub(r"\{\w+(:\w+)?\}", "{}", page.path) for page in PAGES if page.method == "GET"}
    assert not FOR_EVER - shown, "a page that moved leaves a row that leads to its new place"
    assert not shown - FOR_EVER, "a new page is added to the list, and stays where it is from now on"
