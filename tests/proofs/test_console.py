"""What the proof of the console goes by: addresses, texts to attack with, tallies and figures."""

import pytest

from proofs.console.attacks import Tally
from proofs.console.attacks.payloads import PAYLOADS
from proofs.console.attacks.xss import REFLECTING
from proofs.console.journeys import IN_ALL, JOURNEYS
from proofs.rig.console.calling import Call, usd_of
from proofs.rig.console.residents import OWN, PUBLIC, address, parameters, shown_pages
from proofs.rig.console.timing import p95
from tollkeeper.console.figures import exact
from tollkeeper.console.pages import Page
from tollkeeper.console.table import PAGES
from tollkeeper.core.keys import NAME_LENGTH_MOST


def named(page: Page) -> str:
    return f"{page.method} {page.path}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_page_has_an_address_with_ids_of_somebody(page: Page) -> None:
    ids = dict.fromkeys((*OWN, *PUBLIC), "7")
    assert set(parameters(page)) <= set(ids)
    assert "{" not in address(page, ids)


def test_what_a_program_reads_is_not_looked_at_as_a_page() -> None:
    shown = {page.path for page in shown_pages()}
    assert {"/", "/keys", "/usage/{request_id}"} <= shown
    assert not {path for path in shown if path.endswith(".csv")}


def test_there_are_fifty_payloads_that_fit_into_the_name_of_a_key() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) == 50
    assert max(map(len, PAYLOADS)) <= NAME_LENGTH_MOST
    # The last one is for templates, and makes no node.
    assert all("data-xss" in text.lower() for text in PAYLOADS[:-1])


def test_every_form_that_is_attacked_is_in_the_table() -> None:
    posts = {page.path for page in PAGES if page.method == "POST"}
    assert {each.action for each in REFLECTING if each.action} <= posts


def test_a_journey_has_a_number_and_a_way_of_its_own() -> None:
    assert set(JOURNEYS) <= set(range(1, IN_ALL + 1))
    assert len({journey for _, journey in JOURNEYS.values()}) == len(JOURNEYS)


def test_what_was_not_refused_is_counted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    tally.judge("harmless", True)
    tally.judge("harmful", False, "it worked")
    assert str(tally) == "1/2"
    assert "FAILED harmful: it worked" in capsys.readouterr().out


def test_the_ninety_fifth_of_a_hundred_waits_is_told() -> None:
    assert p95([float(wait) for wait in range(100, 0, -1)]) == 96.0
    assert p95([3.0]) == 3.0


@pytest.mark.parametrize("units", [0, 1, 1_250_000, 31_250_000, 500_000_000_000, 10**15 + 1])
def test_amounts_are_written_as_the_pages_write_them(units: int) -> None:
    assert f"${usd_of(units)}" == exact(units)


def test_a_call_is_charged_by_its_tokens() -> None:
    assert Call("id", "gpt-4o", 10, 5).charge == 1_250_000 * 30
