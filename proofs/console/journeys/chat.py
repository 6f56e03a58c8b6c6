"""A journey in the chat: an answer streams, one is stopped, and both are charged for what came."""

from playwright.sync_api import Browser, Locator

from proofs.rig.console.calling import in_usage
from proofs.rig.console.place import Place
from proofs.rig.console.visitor import Visitor

WORDS = 30
# So slow that whoever stops it stops it in the middle.
ENDLESS = "[[tokens=2000]] [[chunk_ms=100]]"


def streamed_stopped_and_charged(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip)
    visitor.sign_in(person)
    visitor.go("/chat")
    visitor.page.locator("select#model").select_option("gpt-4o")
    whole = ask(visitor, f"Hello **you** [[tokens={WORDS}]]")
    whole.locator(".turn-cost").wait_for(state="visible")
    assert len(whole.locator(".turn-text").inner_text().split()) == WORDS
    first = cost(whole)

    stopped = ask(visitor, f"Tell me more {ENDLESS}")
    stopped.locator(".turn-text:not(.waiting)").wait_for()
    visitor.page.locator("#stop").click()
    stopped.locator(".turn-cost").wait_for(state="visible")
    said = len(stopped.locator(".turn-text").inner_text().split())
    assert 0 < said < 2000
    second = cost(stopped)

    for request_id, exact in (first, second):
        line = in_usage(visitor, request_id)
        assert f"${line['usd']}" == exact, (line, exact)
    assert in_usage(visitor, first[0])["output"] == str(WORDS)
    assert int(in_usage(visitor, second[0])["output"]) >= said
    # Nothing of it is kept: the page is empty again, and the key it went by is not for anybody to see.
    visitor.go("/chat")
    assert visitor.page.locator("article.turn").count() == 0
    visitor.go("/keys")
    assert "You have no key yet" in visitor.main
    assert visitor.complaints == []
    visitor.close()


def ask(visitor: Visitor, text: str) -> Locator:
    """The answer's turn, which has begun."""
    before = visitor.page.locator("article.turn-model").count()
    visitor.page.locator("#message").fill(text)
    visitor.page.locator("#message").press("Enter")
    turn = visitor.page.locator("article.turn-model").nth(before)
    turn.wait_for()
    return turn


def cost(turn: Locator) -> tuple[str, str]:
    """The call's id, and what it cost exactly."""
    link = turn.locator(".turn-cost")
    return (link.get_attribute("href") or "").rpartition("/")[2], (link.get_attribute("title") or "").partition(" ")[0]
