"""From a request to an answer: who may, what was sent, the page, and what is said when it cannot be had.

Rules of this file
1. Who may comes first, then whether the form is ours, then the page. A handler runs only for those who may.
2. Staff who read as a customer are shown that customer's pages and can send nothing: here, for every page.
3. Whatever goes wrong is told to people in words; the log has its kind and place, never what was sent.
"""

import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext

from starlette.requests import Request
from starlette.responses import Response

from tollkeeper.accounts.people.reading import as_customer, reading_of
from tollkeeper.accounts.people.sessions import session_of, session_setting_up
from tollkeeper.console import cookies
from tollkeeper.console.forms import ONCE_FIELD, TOKEN_FIELD, BadForm, FormTooLarge, read_form
from tollkeeper.console.guard import comes_from_us, headers_for
from tollkeeper.console.pages import Page, Who
from tollkeeper.console.turns import TooManyAtOnce
from tollkeeper.console.visit import House, Visit
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.people.logins import (
    LoginRefusal,
    ReadingOnly,
    RoleMissing,
    SecondFactorMissing,
    SessionOver,
    SessionRecord,
)
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, may
from tollkeeper.ports import NotOnFile
from tollkeeper.steady import without_content

SECOND_FACTOR_PAGE = "/security/second-factor"
STRANGER_FORM = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger(__name__)


class NotOurForm(Exception):
    """A form that another page sent, or that is too old."""


STATUSES: Mapping[type[Exception], int] = {
    BadForm: 400,
    NotOurForm: 403,
    NotOnFile: 404,
    FormTooLarge: 413,
    TooManyAtOnce: 429,
    StoreUnavailable: 503,
}


def endpoint(house: House, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """What the server calls for a page."""

    async def answer(request: Request) -> Response:
        await house.desks.brand.look()
        visit = open_visit(house, request)
        response = await _answer(page, visit)
        response.headers.update(headers_for(house.site, no_referrer=page.no_referrer))
        return response

    return answer


def open_visit(house: House, request: Request) -> Visit:
    stranger = house.cookies.read(request, cookies.STRANGER)
    return Visit(house, request, stranger=stranger if STRANGER_FORM.fullmatch(stranger) else secrets.token_hex(16))


async def _answer(page: Page, visit: Visit) -> Response:
    try:
        return await _let_in(page, visit) or await _make(page, visit)
    except tuple(STATUSES) as problem:
        return error_page(visit, _status_of(problem))
    except LoginRefusal as refusal:
        status = visit.refuse(refusal, field="")
        return error_page(visit, status, told=visit.form.errors[""])
    except Exception as problem:  # One page must not end the others.
        log.error("%s %s failed: %s", page.method, page.path, without_content(problem))
        return error_page(visit, 500)


def _status_of(problem: Exception) -> int:
    return next(status for kind, status in STATUSES.items() if isinstance(problem, kind))


async def _let_in(page: Page, visit: Visit) -> Response | None:
    """Recognise the visitor; an answer where they are to go elsewhere."""
    setting_up = page.who is Who.SETTING_UP
    recognise = session_setting_up if setting_up else session_of
    if visit.token:
        try:
            visit.found = await recognise(visit.front_desk, visit.token)
        except SessionOver:
            pass
        except SecondFactorMissing:
            if page.who is not Who.ANYBODY:
                return visit.go(SECOND_FACTOR_PAGE)
    await _read_as(page, visit)
    if visit.found is None and page.who in (Who.SIGNED_IN, Who.SETTING_UP, Who.STAFF):
        return visit.go_and_sign_in()
    if visit.found is not None and page.who is Who.STAFF:
        _require_staff(page, visit.found)
    if visit.found is not None and page.who is Who.STRANGER:
        return visit.go("/")
    return None


async def _read_as(page: Page, visit: Visit) -> None:
    """Find out as whom staff read, and show customers' pages as that customer's. Raise ReadingOnly for whatever is
    sent meanwhile, whichever page it is sent to."""
    visit.signed_in, visit.reading = visit.found, None
    if visit.found is None:
        return
    visit.reading = await reading_of(visit.front_desk, visit.found)
    if visit.reading is None:
        return
    if page.method != "GET" and not page.while_reading:
        raise ReadingOnly
    if page.method == "GET" and page.who in (Who.SIGNED_IN, Who.SETTING_UP):
        visit.found = as_customer(visit.found, visit.reading)


def _require_staff(page: Page, session: SessionRecord) -> None:
    """Raise NotOnFile for customers, RoleMissing for staff of another role."""
    if not session.role.is_staff:
        raise NotOnFile("There is no such page.")
    if not may(ROLE_SCOPES[session.role], page.scope):
        raise RoleMissing


async def _make(page: Page, visit: Visit) -> Response:
    if page.method == "POST" and not comes_from_us(visit.request, visit.site):
        raise NotOurForm
    async with visit.house.turns.of(visit.signed_in.account_id) if visit.signed_in else nullcontext():
        if page.method == "POST" and (away := await _take_form(page, visit)):
            return away
        if page.once and not await _is_first(visit):
            return visit.go(visit.request.url.path, done="sent-before")
        if visit.found is not None:
            visit.wallet = await visit.desks.wallets.of(visit.account_id)
        return await page.make(visit)


async def _take_form(page: Page, visit: Visit) -> Response | None:
    """Read what was sent; an answer where the session ended meanwhile. Raise NotOurForm, and what reading raises."""
    visit.form = await read_form(visit.request, bytes_most=page.body_bytes_most, takes_files=page.takes_files)
    if not visit.house.seals.is_form_token(visit.bound_to, visit.form.exactly(TOKEN_FIELD)):
        raise NotOurForm
    if visit.found is None:
        return None
    visit.found = None
    away = await _let_in(page, visit)
    if away is None and visit.found is None:
        raise NotOurForm
    return away


async def _is_first(visit: Visit) -> bool:
    """Whether a form that moves money was not sent before. Raise NotOurForm."""
    given = visit.form.exactly(ONCE_FIELD)
    if not visit.house.seals.is_form_id(visit.bound_to, visit.request.url.path, given):
        raise NotOurForm
    return await visit.desks.sent_forms.is_first(given)


def error_page(visit: Visit, status: int, *, told: str = "") -> Response:
    return visit.page("error.html", status=status, code=status, told=told)
