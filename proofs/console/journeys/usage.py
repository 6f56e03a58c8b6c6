"""Journeys of whoever checks: calls filtered, a receipt, CSV equal to the table, a statement that adds up."""

import csv
from decimal import Decimal
from pathlib import Path

from playwright.sync_api import Browser

from proofs.console.journeys.keys import new_key
from proofs.rig.console.calling import Call, called, in_usage, lines, usd_of
from proofs.rig.console.place import Place
from proofs.rig.console.visitor import Visitor

# What is compared: the column of the CSV file, and what the page's row has.
COLUMNS = {
    "request_id": "id",
    "model": "model",
    "key_name": "key",
    "input_units": "input",
    "cached_units": "cached",
    "output_units": "output",
    "charged_usd": "usd",
}


def downloaded(visitor: Visitor, selector: str) -> list[dict[str, str]]:
    """The rows of a CSV file that a link gives."""
    with visitor.page.expect_download() as download:
        visitor.page.locator(selector).click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def filtered_with_receipt_and_csv(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip, accept_downloads=True)
    visitor.sign_in(person)
    (_, one), (two_id, two) = new_key(visitor, "one"), new_key(visitor, "two")
    calls = [
        called(place, one, words=3),
        called(place, one, model="gpt-4o-mini", words=4),
        called(place, two, words=5),
        called(place, two, words=6),
    ]
    in_usage(visitor, calls[-1].request_id)
    visitor.go("/usage")
    assert _ids(visitor) == [call.request_id for call in reversed(calls)]
    assert f"${usd_of(sum(call.charge for call in calls))}" in visitor.titles("#total-title span")

    for filters, expected in (({"model": "gpt-4o-mini"}, calls[1:2]), ({"key": str(two_id)}, calls[2:])):
        visitor.go("/usage")
        visitor.send("/usage", **filters)
        assert _ids(visitor) == [call.request_id for call in reversed(expected)], filters
        _compare_with_csv(visitor, expected)
    visitor.go("/usage")
    visitor.send("/usage", ending="client_left")
    assert _ids(visitor) == []
    assert visitor.go("/usage?from=nonsense") == 422

    visitor.go(f"/usage/{calls[0].request_id}")
    assert visitor.says(f"Why it cost ${usd_of(calls[0].charge)}")
    formula = visitor.one(".formula")
    for figure in (
        f"{calls[0].input_tokens} input",
        f"{calls[0].output_tokens} output",
        "1.25",
        usd_of(calls[0].charge),
    ):
        assert figure in formula, formula
    assert visitor.complaints == []
    visitor.close()


def _ids(visitor: Visitor) -> list[str]:
    return [line["id"] for line in lines(visitor)]


def _compare_with_csv(visitor: Visitor, expected: list[Call]) -> None:
    shown = lines(visitor)
    rows = downloaded(visitor, 'a[href^="/usage.csv"]')
    assert [_told({ours: row[theirs] for theirs, ours in COLUMNS.items()}) for row in rows] == [
        _told({ours: line[ours] for ours in COLUMNS.values()}) for line in shown
    ]
    assert sum(Decimal(row["charged_usd"]) for row in rows) == sum(Decimal(usd_of(call.charge)) for call in expected)


def a_statement_that_adds_up(browser: Browser, place: Place) -> None:
    person = place.a_person(usd=7)
    [code] = place.codes(1, 3)
    visitor = Visitor(browser, place, person.ip, accept_downloads=True)
    visitor.sign_in(person)
    visitor.go("/top-up")
    visitor.send("/top-up", code=code)
    _, key = new_key(visitor, "statement")
    calls = [called(place, key, words=words) for words in (2, 3, 4)]
    in_usage(visitor, calls[-1].request_id)
    spent = Decimal(usd_of(sum(call.charge for call in calls)))

    visitor.go("/statements")
    amounts = [_amount(cell) for cell in visitor.page.locator(".statement tbody td.n:last-child").all_inner_texts()]
    opening, closing = amounts[0], _amount(visitor.page.locator(".statement tfoot td.n").last.inner_text())
    assert opening == 0
    assert sum(amounts) == closing == 10 - spent
    assert -spent in amounts
    assert 10 in amounts
    rows = downloaded(visitor, 'a[href^="/statements.csv"]')
    assert [row["item"] for row in (rows[0], rows[-1])] == ["opening balance", "closing balance"]
    assert sum(Decimal(row["amount_usd"]) for row in rows[:-1]) == Decimal(rows[-1]["amount_usd"]) == closing
    visitor.page.locator(".statement a[href^='/usage']").first.click()
    assert _ids(visitor) == [call.request_id for call in reversed(calls)]
    assert visitor.complaints == []
    visitor.close()


def _told(line: dict[str, str]) -> dict[str, object]:
    """People and spreadsheets have their own ways to write one amount."""
    return line | {"usd": Decimal(line["usd"])}


def _amount(text: str) -> Decimal:
    return Decimal(text.strip().replace("$", "").replace(",", ""))
