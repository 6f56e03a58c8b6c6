"""What the proof of the operators' side goes by: the matrix of rights, addresses, forms that move money."""

import pytest

from proofs.operators.furnished import KNOWN, filled, parameters_of, thing
from proofs.operators.journeys import IN_ALL, JOURNEYS
from proofs.operators.matrix import Verdict, expected, seen
from proofs.operators.money_forms import FORMS
from proofs.operators.once import money_acts, money_forms
from proofs.operators.sessions import VisitorKind
from proofs.operators.timing import FILTERS, NEEDED, WHOLE
from proofs.rig.console.wire import Reply
from tollkeeper.console.pages import Page, Who, get, post, staff_get
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.table import ACTS


async def nothing(_: Visit) -> None:
    """A page that nobody opens."""


PAGE_OF_ALL = get("/a", nothing, who=Who.ANYBODY)  # type: ignore[arg-type]
PAGE_OF_STRANGERS = post("/b", nothing, who=Who.STRANGER)  # type: ignore[arg-type]
PAGE_OF_SET_UP = get("/c", nothing, who=Who.SETTING_UP)  # type: ignore[arg-type]
OWN_PAGE = get("/d", nothing)  # type: ignore[arg-type]
PAGE_FOR_READING = staff_get("/staff/e", nothing, Scope.READ)  # type: ignore[arg-type]
PAGE_FOR_MONEY = staff_get("/staff/f", nothing, Scope.MONEY)  # type: ignore[arg-type]
EXPECTED = {
    VisitorKind.STRANGER: ("let in", "let in", "sent to sign in", "sent to sign in", *["sent to sign in"] * 2),
    VisitorKind.CUSTOMER: ("let in", "sent home", "let in", "let in", "no such page", "no such page"),
    VisitorKind.SUPPORT: ("let in", "sent home", "let in", "let in", "let in", "of another role"),
    VisitorKind.OPERATOR: ("let in", "sent home", *["let in"] * 4),
    VisitorKind.SETTING_UP: (
        *("let in", "sent to set up a second factor", "let in"),
        *["sent to set up a second factor"] * 3,
    ),
}


@pytest.mark.parametrize("kind", VisitorKind)
def test_who_is_let_in_follows_from_the_table(kind: VisitorKind) -> None:
    pages = (PAGE_OF_ALL, PAGE_OF_STRANGERS, PAGE_OF_SET_UP, OWN_PAGE, PAGE_FOR_READING, PAGE_FOR_MONEY)
    assert tuple(expected(page, kind).value for page in pages) == EXPECTED[kind]


@pytest.mark.parametrize(
    ("status", "goes_to", "text", "verdict"),
    [
        (200, "", "", Verdict.LET_IN),
        (422, "", "", Verdict.LET_IN),
        (403, "", "This form is too old.", Verdict.LET_IN),
        (403, "", "This is not for your account. Nothing was done.", Verdict.ROLE_MISSING),
        (404, "", "", Verdict.NO_SUCH_PAGE),
        (303, "/", "", Verdict.HOME),
        (303, "/sign-in?next=/staff", "", Verdict.SIGN_IN),
        (303, "/security/second-factor", "", Verdict.SET_UP),
        (303, "/staff/audit", "", Verdict.LET_IN),
    ],
)
def test_what_was_seen_is_told_from_the_answer(status: int, goes_to: str, text: str, verdict: Verdict) -> None:
    assert seen(Reply(status=status, headers=[("Location", goes_to)], text=text)) is verdict


@pytest.mark.parametrize("page", STAFF, ids=lambda page: f"{page.method} {page.path}")
def test_every_page_of_staff_has_an_address_with_ids_of_something(page: Page) -> None:
    assert set(parameters_of(page.path)) <= set(KNOWN), "add it to proofs/operators/furnished.py"
    assert "{" not in filled(page.path, dict.fromkeys(KNOWN, "7"))


def test_every_act_has_an_address_with_ids_of_something() -> None:
    assert {name for act in ACTS for name in parameters_of(act.path)} <= set(KNOWN)


@pytest.mark.parametrize(
    ("name", "path", "what"),
    [
        ("account_id", "/staff/x/{account_id:int}", "account"),
        ("name", "/providers/{name}", "provider"),
        ("name", "/operator-keys/{name}/revoke", "operator_key"),
        ("request_id", "/calls/{request_id}", "request"),
        ("request_id", "/disputes/{request_id}", "dispute"),
    ],
)
def test_a_parameter_is_about_something(name: str, path: str, what: str) -> None:
    assert thing(name, path) == what


def test_every_form_that_moves_money_is_known_with_its_act() -> None:
    assert {page.path for page in money_forms()} <= set(FORMS), "add it to proofs/operators/money_forms.py"
    known = {act.name for act in money_acts()}
    assert {FORMS[page.path] for page in money_forms()} <= known


def test_a_journey_of_staff_has_a_number_and_a_way_of_its_own() -> None:
    assert set(JOURNEYS) == set(range(1, IN_ALL + 1))
    assert len({journey for _, journey in JOURNEYS.values()}) == len(JOURNEYS)


def test_what_is_asked_of_lists_is_asked_of_acts_that_are_there() -> None:
    reading = {act.name: act for act in ACTS if act.method == "GET"}
    assert {*FILTERS, *NEEDED} <= set(reading)
    assert set(WHOLE) & set(reading)
    for name, ways in FILTERS.items():
        assert all(set(way) <= set(reading[name].asked) for way in ways), name
