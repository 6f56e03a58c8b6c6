"""Who may what: every kind of visitor on every page, and every scope on every act, over real HTTP.

Rules of this file
1. What is expected follows from the tables alone: `who` and `scope` of a page, `scope` of an act.
2. Whoever may not sends everything that a form has that may. Whoever may sends no token: so nothing is changed.
3. With the id of nobody's, and with another's, customers' pages look the same to everybody whose they are not.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from proofs.operators.api import Api
from proofs.operators.furnished import filled, parameters_of, shown_at
from proofs.operators.sessions import VisitorKind, session
from proofs.rig.checks import Check
from proofs.rig.console.place import Place
from proofs.rig.console.residents import OWN, PUBLIC, a_resident, address, parameters
from proofs.rig.console.wire import SESSION_COOKIE, Reply, Wire
from tollkeeper.app.console import site_of
from tollkeeper.console.pages import Page, Who
from tollkeeper.console.respond import SECOND_FACTOR_PAGE
from tollkeeper.console.seals import Seals
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.core.people.operator_keys import ROLE_SCOPES, Scope, may
from tollkeeper.office.act import Act
from tollkeeper.office.table import ACTS
from tollkeeper.settings import load

NUMBER_OF_NONE = "123456789012345"
REQUEST_OF_NONE = "0190a0a0-0000-7000-8000-000000000000"
OTHER_ROLE = "This is not for your account."
# Without a day that has calls there is nothing to export, and legal pages are there once somebody wrote them.
EMPTY = ("/logs.csv", "/legal/")


class Verdict(StrEnum):
    LET_IN = "let in"
    SIGN_IN = "sent to sign in"
    SET_UP = "sent to set up a second factor"
    HOME = "sent home"
    NO_SUCH_PAGE = "no such page"
    ROLE_MISSING = "of another role"


def expected(page: Page, kind: VisitorKind) -> Verdict:
    """What the table says."""
    if kind is VisitorKind.STRANGER:
        return Verdict.LET_IN if page.who in (Who.ANYBODY, Who.STRANGER) else Verdict.SIGN_IN
    if kind is VisitorKind.SETTING_UP:
        return Verdict.LET_IN if page.who in (Who.ANYBODY, Who.SETTING_UP) else Verdict.SET_UP
    if page.who is Who.STRANGER:
        return Verdict.HOME
    if page.who is not Who.STAFF or may(ROLE_SCOPES[kind.role], page.scope):
        return Verdict.LET_IN
    return Verdict.ROLE_MISSING if kind.role.is_staff else Verdict.NO_SUCH_PAGE


def seen(reply: Reply) -> Verdict:
    goes_to = reply.header("location").partition("?")[0]
    if reply.status == 303 and goes_to in ("/sign-in", SECOND_FACTOR_PAGE, "/"):
        return {"/sign-in": Verdict.SIGN_IN, "/": Verdict.HOME}.get(goes_to, Verdict.SET_UP)
    if reply.status == 404:
        return Verdict.NO_SUCH_PAGE
    is_of_role = reply.status == 403 and OTHER_ROLE in reply.text
    return Verdict.ROLE_MISSING if is_of_role else Verdict.LET_IN


def pages_checked(place: Place, ids: Mapping[str, str]) -> Iterator[Check]:
    """Every kind of visitor on every page of both tables."""
    resident, seals = a_resident(place, "Owen"), Seals(site_of(load(place.settings)).secret)
    for kind in VisitorKind:
        wire = Wire(place.console.port, place.url, place.new_ip())
        token = session(place, kind)
        if token:
            wire.cookies[SESSION_COOKIE] = token
        for page in (*PAGES, *STAFF):
            path = shown_at(page, ids) if page in STAFF else address(page, resident.ids)
            reply = _visited(wire, seals, page, path, allowed=expected(page, kind) is Verdict.LET_IN)
            yield _page_check(wire, page, kind, reply)
            wire.cookies = {SESSION_COOKIE: token} if token else {}


def _visited(wire: Wire, seals: Seals, page: Page, path: str, *, allowed: bool) -> Reply:
    if page.method == "GET":
        return wire.get(path)
    fields = {} if allowed else {"form_id": seals.form_id(wire.session, path), "reason": "a proof"}
    wire.token = "" if allowed else seals.form_token(wire.session)
    return wire.post(path, fields)


def _page_check(wire: Wire, page: Page, kind: VisitorKind, reply: Reply) -> Check:
    name, wanted, found = f"{page.method} {page.path} for {kind}", expected(page, kind), seen(reply)
    if page.path.startswith(EMPTY) and found is Verdict.NO_SUCH_PAGE:
        found = Verdict.LET_IN
    if wanted is Verdict.LET_IN and _is_anothers(page) and page.method == "GET":
        # Theirs is none of it: it looks like one that never was.
        none = dict.fromkeys(OWN, NUMBER_OF_NONE) | {"request_id": REQUEST_OF_NONE} | PUBLIC
        return Check(name, reply.status == wire.get(address(page, none)).status, str(reply.status))
    if wanted is Verdict.LET_IN and page.method == "POST":
        # No token was sent: a form that is none of ours, whoever may.
        return Check(name, reply.status in (403, 413) and found is Verdict.LET_IN, f"{reply.status}")
    return Check(name, found is wanted and reply.status < 500, f"{found}, {reply.status}, not {wanted}")


def _is_anothers(page: Page) -> bool:
    """Whether its id is one of somebody's own."""
    return page not in STAFF and bool(set(parameters(page)) & set(OWN)) and "gift_code" not in parameters(page)


def acts_checked(port: int, keys: Mapping[Scope, str], customers_key: str) -> Iterator[Check]:
    """Every scope, and everybody without one, on every act; the ids are nobody's."""
    for scope, key in keys.items():
        api = Api(port, key)
        for act in ACTS:
            reply = _asked(api, act)
            is_refused = (reply.status, reply.code) == (403, "scope_missing")
            # Where a scope is enough, an id of nobody's is found out, and nothing is done.
            holds = is_refused is not may({scope}, act.scope) and reply.status < 500
            yield Check(f"{act.method} {act.path} with {scope.value}", holds, f"{reply.status} {reply.code}")
    cookies = {"Cookie": f"{SESSION_COOKIE}={customers_key}"}
    for name, api in {
        "no key": Api(port, ""),
        "a customer's key": Api(port, customers_key),
        "a cookie": Api(port, "", cookies),
    }.items():
        for act in ACTS:
            reply = _asked(api, act)
            yield Check(f"{act.method} {act.path} with {name}", reply.status == 401, f"{reply.status} {reply.code}")


def ids_of_none_checked(port: int, key: str) -> Iterator[Check]:
    """Whoever may do everything, with an id that nobody has: told so, and nothing else."""
    api = Api(port, key)
    for act in ACTS:
        if act.in_path and act.method == "GET":
            reply = _asked(api, act)
            yield Check(f"{act.path} of none", reply.status in (400, 404, 422), f"{reply.status} {reply.code}")


def _asked(api: Api, act: Act[Any, Any]) -> Any:
    none = dict.fromkeys(parameters_of(act.path), NUMBER_OF_NONE) | {"request": REQUEST_OF_NONE}
    return api.send(act.method, filled(act.path, none), {} if act.has_body else None, once="a proof")
