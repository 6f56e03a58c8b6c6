"""Journeys of whoever looks after what staff did."""

from playwright.sync_api import Browser

from proofs.operators.staff import staff_member
from proofs.rig.console.place import Place
from proofs.rig.console.visitor import Visitor
from tollkeeper.core.people.logins import Role

A_ROW = "select id, actor from audit order by id limit 1 offset 2"
REWRITE = "update audit set actor = $2 where id = $1 returning id"


def the_chain_verified_and_a_break_shown(browser: Browser, place: Place) -> None:
    visitor = staff_member(browser, place, Role.SUPPORT)
    visitor.page.get_by_role("link", name="Audit").first.click()
    visitor.page.wait_for_url("**/staff/audit")
    _filter(visitor, "login.")
    assert _verdict(visitor).startswith("The chain is whole")
    [(row, actor)] = place.rows(A_ROW)
    place.rows(REWRITE, row, "somebody else")
    try:
        assert _verdict(visitor).startswith(f"The chain is broken at row {row}:")
    finally:
        place.rows(REWRITE, row, actor)
    assert _verdict(visitor).startswith("The chain is whole")
    assert visitor.complaints == []
    visitor.close()


def _filter(visitor: Visitor, action: str) -> None:
    """Rows of one kind, newest first, with who acted."""
    visitor.send("/staff/audit", action=action)
    actions = visitor.page.locator("main tbody tr td:nth-child(3)").all_inner_texts()
    assert actions, visitor.main
    assert all(each.startswith(action) for each in actions), actions
    visitor.go("/staff/audit")


def _verdict(visitor: Visitor) -> str:
    """As the button says it."""
    with visitor.another_page():
        visitor.page.get_by_role("button", name="Verify the chain").click()
    return visitor.one("main [role=alert]")
