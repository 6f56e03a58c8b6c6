"""Visitors of the console's pages without a browser: any header, any field, any cookie."""

import re
import secrets
from collections.abc import Mapping
from urllib.parse import urlencode

import asyncpg

from tests.attacks.operator_calls import Headers, Said, an_account, say_to
from tests.office.serving import Served
from tollkeeper.console.cookies import SESSION, Cookies
from tollkeeper.console.pages import Page
from tollkeeper.core.people.logins import Role, mint_token, token_digest

TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
COOKIE = Cookies(secure=False).name(SESSION)
FORM = ("Content-Type", "application/x-www-form-urlencoded")
LOGIN = """
insert into login (account_id, email, person, password, role, verified_at, totp_sealed, totp_confirmed_at)
values ($1, $2, sha256(convert_to($2, 'UTF8')), '$argon2id$', $3, ledger_now(), 'none', ledger_now())
"""
SIGNED_IN = """
insert into session (digest, account_id, expires_at, ip, agent, second_factor_at)
values ($1, $2, now() + interval '1 day', '', '', ledger_now()) returning id
"""


class PageVisitor:
    def __init__(self, served: Served, account: int = 0, session: str = "", session_id: int = 0) -> None:
        self._served = served
        self.account = account
        self.session = session
        self.session_id = session_id
        self.own_page: Headers = [("Origin", served.base), ("Sec-Fetch-Site", "same-origin")]

    def get(self, path: str) -> Said:
        return say_to(self._served, "GET", path, self._cookies())

    def post(self, path: str, fields: Mapping[str, str], headers: Headers | None = None) -> Said:
        """As a page's own form, unless `headers` say otherwise."""
        sent = [*self._cookies(), *(self.own_page if headers is None else headers), FORM]
        return say_to(self._served, "POST", path, sent, urlencode(fields).encode())

    def token(self) -> str:
        found = TOKEN.search(self.get("/preferences").text) or TOKEN.search(self.get("/").text)
        assert found is not None
        return found[1]

    def _cookies(self) -> list[tuple[str, str]]:
        return [("Cookie", f"{COOKIE}={self.session}")] if self.session else []


async def a_visitor(
    served: Served, books: asyncpg.Connection, role: Role = Role.CUSTOMER, name: str = "Ada"
) -> PageVisitor:
    """Signed in, with a second factor."""
    account, token = an_account(served, name), mint_token(secrets.choice)
    await books.execute(LOGIN, account, f"{secrets.token_hex(6)}@people.example", role.value)
    session_id = await books.fetchval(SIGNED_IN, token_digest(token), account)
    return PageVisitor(served, account, token, session_id)


def parameters(page: Page) -> list[str]:
    return PARAMETER.findall(page.path)


def address(page: Page, ids: Mapping[str, str]) -> str:
    """What is not in `ids` is 1."""
    return PARAMETER.sub(lambda found: ids.get(found[1], "1"), page.path)
