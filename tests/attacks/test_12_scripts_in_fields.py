"""Texts that would run a script, in names that are kept and in addresses that come back: on every page of the console
they are text. (`prove-console` tries fifty of them in a browser.)"""

from urllib.parse import urlencode

import asyncpg
import pytest

from tests.attacks.operator_calls import bearer, say_to
from tests.attacks.page_visits import a_visitor, address, parameters
from tests.office.serving import Served
from tollkeeper.console.pages import Who
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import Scope

PAYLOADS = (
    "<script data-xss>alert(1)</script>",
    '"><img data-xss src=x onerror=alert(1)>',
    "' data-xss onmouseover=alert(1) x='",
    "</title></textarea><svg data-xss onload=alert(1)>",
)
# Whatever pages ask for in their addresses, and some that none does.
ASKED = (
    *("q", "id", "key", "model", "from", "to", "month", "ending", "after", "before", "search", "find", "actor"),
    *("action", "subject", "ip", "account", "kind", "group", "hidden", "time", "variant", "vendor", "tag", "hours"),
    *("email", "token", "next", "back", "done", "day", "all", "waiting", "state", "what", "language", "theme"),
)
SHOWN = [page for page in (*PAGES, *STAFF) if page.method == "GET"]


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_what_an_address_says_comes_back_as_text(served: Served, books: asyncpg.Connection, payload: str) -> None:
    visitor = await a_visitor(served, books, Role.OPERATOR)
    found = []
    for page in SHOWN:
        answer = visitor.get(f"{address(page, {})}?{urlencode(dict.fromkeys(ASKED, payload))}")
        if payload in answer.text or answer.status >= 500:
            found.append((page.path, answer.status))
    assert found == []


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_what_was_kept_is_shown_as_text(served: Served, books: asyncpg.Connection, payload: str) -> None:
    customer = await a_visitor(served, books, name=f"Ada {payload}")
    operator = await a_visitor(served, books, Role.OPERATOR, name=f"Ben {payload}")
    staff = [bearer(served.keys[Scope.EVERYTHING])]
    key = say_to(served, "POST", f"accounts/{customer.account}/keys", staff, {"name": payload, "reason": payload}).told
    texts = {"english": payload, "chinese": payload, "ends_at": "2999-12-31T00:00:00Z"}
    assert say_to(served, "POST", "announcements", staff, texts).status == 200
    reason = {"ip": "192.0.2.7", "hours": 1, "reason": payload}
    assert say_to(served, "POST", "bans", staff, reason).status in (200, 409)
    ids = {"key_id": str(key["key_id"] if "key_id" in key else key["key"]), "account": str(customer.account)}
    seen = 0
    for page in SHOWN:
        visitor = operator if page.who is Who.STAFF else customer
        answer = visitor.get(address(page, ids))
        assert payload not in answer.text, page.path
        assert answer.status < 500, page.path
        seen += "data-xss" in answer.text
    assert seen, "it is shown nowhere"


async def test_no_page_lets_a_script_of_its_own_text_run(served: Served, books: asyncpg.Connection) -> None:
    visitor = await a_visitor(served, books, Role.OPERATOR)
    for page in SHOWN:
        if parameters(page):
            continue
        policy = visitor.get(page.path).headers["content-security-policy"]
        assert "script-src 'self';" in policy, page.path
        assert "unsafe" not in policy, page.path
