"""Wishes on the wire: what a command line writes is what the operator API reads."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tests.console.browser import Browser
from tests.office.wishing import wishes
from tollkeeper.console.admin.routes import ActRoute
from tollkeeper.console.admin.wishes import read_wish
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.accounts import CreditDone, credit_account
from tollkeeper.office.act import Act, MoneyWish, act
from tollkeeper.office.amounts import Amount
from tollkeeper.office.desks import Office
from tollkeeper.office.table import ACTS
from tollkeeper.office.wire import names_once, result_read, written
from tollkeeper.office.wishes import Changed


class EveryKindWish(MoneyWish, frozen=True, kw_only=True):
    """Fields of every kind that wishes have."""

    name: str
    number: int
    yes: bool
    amount: Decimal
    at: datetime
    scope: Scope
    word: str | None = None
    limit: int | None = None
    until: datetime | None = None


class NestedWish(EveryKindWish, frozen=True, kw_only=True):
    parts: list[Amount]
    scopes: list[Scope] | None = None


async def nothing(office: Office, wish: EveryKindWish, by: Actor) -> Changed:
    """Do nothing."""
    return Changed(False)


async def nothing_nested(office: Office, wish: NestedWish, by: Actor) -> Changed:
    """Do nothing."""
    return Changed(False)


MADE_UP: tuple[Act[Any, Any], ...] = (
    act("GET", "/things/{name}/parts/{number}", Scope.READ)(nothing),
    act("DELETE", "/things/{scope}", Scope.READ)(nothing),
    act("POST", "/things/{at}/of/{name}", Scope.READ)(nothing_nested),
)


async def read_back(deed: Act[Any, Any], wish: msgspec.Struct) -> Any:
    """What the API's reader makes of what the client writes, with the route between them."""
    seen: list[Any] = []

    async def endpoint(request: Request) -> Response:
        seen.append(await read_wish(deed, request, once=request.headers.get("idempotency-key", "")))
        return Response()

    sent = written(deed, wish)
    api = Starlette(routes=[ActRoute(deed.path, endpoint, methods=[deed.method])])
    headers = {"idempotency-key": sent.once} if sent.once else {}
    address = sent.path + (f"?{sent.query}" if sent.query else "")
    answer = await Browser(api).send(sent.method, address, body=sent.body or b"", headers=headers)
    assert answer.status == 200, answer.text
    return seen[0]


def can_be_sent(deed: Act[Any, Any], wish: Any) -> bool:
    """There is no address for a name that is empty. What names a request is a header."""
    named = all(getattr(wish, name) != "" for name in deed.in_path)
    return named and (not deed.moves_money or names_once(wish.once))


@pytest.mark.parametrize("deed", [*ACTS, *MADE_UP], ids=lambda deed: deed.name)
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
async def test_what_is_written_is_read_back(deed: Act[Any, Any], data: st.DataObject) -> None:
    wish = data.draw(wishes(deed.wish))
    if deed.moves_money:
        wish = msgspec.structs.replace(wish, once=data.draw(st.from_regex(r"[!-~]{1,40}", fullmatch=True)))
    if can_be_sent(deed, wish):
        assert await read_back(deed, wish) == wish


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a b", "?x=1", "#", "%2F", "é", "+", "a//b", ";"])
async def test_a_name_in_a_path_may_have_any_character(name: str) -> None:
    deed = act("POST", "/models/{name}/retire", Scope.CATALOG)(nothing)
    plain = EveryKindWish(
        once="x",
        reason="",
        name=name,
        number=1,
        yes=True,
        amount=Decimal(1),
        at=datetime(2026, 11, 17, tzinfo=UTC),
        scope=Scope.READ,
    )
    assert (await read_back(deed, plain)).name == name


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a", True),
        ("invoice 17", True),
        ("x" * 255, True),
        ("x" * 256, False),
        ("", False),
        (" a", False),
        ("é", False),
    ],
)
def test_what_can_name_a_request(text: str, fits: bool) -> None:
    assert names_once(text) is fits


def test_a_result_that_was_there_before_says_so() -> None:
    done = CreditDone(lot=1, amount=Amount(1, "0.1"), expires_at=datetime(2026, 11, 17, tzinfo=UTC), was_before=False)
    body = msgspec.json.encode(done)
    assert result_read(credit_account, body, replayed=False) == done
    assert result_read(credit_account, body, replayed=True).was_before
