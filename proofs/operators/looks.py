"""axe-core on every page of staff, as an operator sees it with one of everything, and as support does."""

from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser

from proofs.operators.furnished import shown_at
from proofs.operators.staff import staff_member
from proofs.rig.console.axe import QUICKLY, Looked, look, look_here
from proofs.rig.console.place import Place
from tollkeeper.console.pages import Page
from tollkeeper.console.staff.table import STAFF
from tollkeeper.core.people.logins import Role

# Beyond the table: answers that a form asks for, and what is shown where something is wrong or nothing is found.
MORE = ("/staff/audit?chain=1", "/staff/audit?action=nothing.", "/staff/audit?after=nonsense", "/staff/no-such-page")
# What a program reads, or a browser saves.
NOT_PAGES = (".csv", ".json", ".txt")


def shown_to_staff() -> list[Page]:
    return [page for page in STAFF if page.method == "GET" and not page.path.endswith(NOT_PAGES)]


def look_at_every_staff_page(browser: Browser, place: Place, ids: Mapping[str, str], pictures: Path | None) -> Looked:
    looked = Looked()
    operator = staff_member(browser, place, Role.OPERATOR, reduced_motion="reduce")
    for path in (*(shown_at(page, ids) for page in shown_to_staff()), *MORE):
        looked.pages += 1
        look(operator, place.url + path, looked, pictures)
    support = staff_member(browser, place, Role.SUPPORT, reduced_motion="reduce")
    looked.pages += 1
    look_here(support, f"{place.url}/staff (support)", looked, pictures, QUICKLY)
    assert operator.complaints + support.complaints == [], operator.complaints + support.complaints
    operator.close()
    support.close()
    return looked
