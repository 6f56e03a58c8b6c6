"""The chat's page in a real browser: what people press, see and pay."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.people import Person
from tollkeeper_simulator.speech import text_of
from tools.console import Console

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium"),
    pytest.mark.usefixtures("simulator"),
]
PATIENCE_MS = 30_000
KEPT = "() => [localStorage.length, sessionStorage.length, document.cookie]"


@pytest.fixture
def page(chat_console: Console, chatter: Person, talker: str) -> Iterator[Page]:
    """Signed in, and about to talk."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = browser.new_page(locale="en-US")
        found.set_default_timeout(PATIENCE_MS)
        complaints: list[str] = []
        found.on("pageerror", lambda error: complaints.append(str(error)))
        found.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        found.goto(f"{chat_console.base}/sign-in")
        found.fill("#email", chatter.email)
        found.fill("#password", chatter.password)
        found.press("#password", "Enter")
        found.wait_for_url(f"{chat_console.base}/")
        found.goto(f"{chat_console.base}/chat?model={talker}")
        yield found
        assert complaints == []
        browser.close()


def say(page: Page, text: str) -> None:
    page.fill("#message", text)
    page.press("#message", "Enter")


def test_an_answer_streams_stops_and_shows_its_cost(page: Page) -> None:
    page.fill("#message", "Hello")
    page.press("#message", "Shift+Enter")
    expect(page.locator("#message")).to_have_value("Hello\n")
    say(page, "[[tokens=400 chunk_ms=100]] <b>not bold</b>")
    expect(page.locator(".turn-you .turn-text")).to_have_text("[[tokens=400 chunk_ms=100]] <b>not bold</b>")
    expect(page.locator(".turn-model p")).to_contain_text("river stone", timeout=PATIENCE_MS)
    expect(page.locator(".turn-model")).to_have_attribute("aria-busy", "true")
    page.keyboard.press("Escape")
    cost = page.locator(".turn-cost")
    expect(cost).to_have_text(re.compile(r"\$0\.00\d+"), timeout=PATIENCE_MS)
    expect(page.locator(".turn-note")).to_have_text("Stopped.")
    said = page.locator(".turn-model .turn-text").inner_text()
    assert 0 < len(said) < len(text_of(400))
    assert page.evaluate(KEPT) == [0, 0, ""]
    told = (cost.get_attribute("title") or "").partition(" ")[0]
    assert told.startswith("$0.00")
    cost.click()
    expect(page.locator("main")).to_contain_text(told)
    expect(page.locator("main")).to_contain_text("you hung up")


def test_what_was_said_goes_along_and_a_new_chat_forgets_it(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
    for text in ("one [[tokens=2]]", "two [[tokens=2]]"):
        say(page, text)
        expect(page.locator(".turn-cost:visible")).to_have_count(len(sent), timeout=PATIENCE_MS)
        expect(page.locator("#send")).to_be_visible(timeout=PATIENCE_MS)
    page.click("#new-chat")
    expect(page.locator(".turn")).to_have_count(0)
    say(page, "three [[tokens=2]]")
    expect(page.locator(".turn-cost:visible")).to_have_count(1, timeout=PATIENCE_MS)
    assert [[word in body for word in ("one", "two", "three", "assistant")] for body in sent] == [
        [True, False, False, False],
        [True, True, False, True],
        [False, False, True, False],
    ]


def test_what_cannot_be_answered_is_said_and_comes_back_to_be_changed(page: Page) -> None:
    say(page, '[[status=400 status_text="No pictures here."]]')
    expect(page.locator(".turn-trouble")).to_contain_text("did not take this", timeout=PATIENCE_MS)
    expect(page.locator(".turn-detail")).to_contain_text("No pictures here.")
    expect(page.locator(".turn-cost")).to_have_text("Nothing was charged.", timeout=PATIENCE_MS)
    expect(page.locator("#message")).to_have_value('[[status=400 status_text="No pictures here."]]')


def test_pictures_are_made_smaller_and_sent_along(page: Page, tmp_path: Path) -> None:
    large = tmp_path / "large.png"
    page.screenshot(path=large, full_page=True, scale="css")
    page.set_input_files("#files", [large, large])
    expect(page.locator(".chat-picture")).to_have_count(2)
    page.locator(".chat-picture").first.click()
    expect(page.locator(".chat-picture")).to_have_count(1)
    say(page, "What is this? [[tokens=2]]")
    expect(page.locator(".turn-you img")).to_have_count(1)
    assert page.locator(".turn-you img").get_attribute("src", timeout=PATIENCE_MS)
    expect(page.locator(".turn-cost:visible")).to_have_count(1, timeout=PATIENCE_MS)


def test_the_page_follows_the_answer_until_the_reader_looks_elsewhere(page: Page) -> None:
    # Longer than the test, however busy the machine is; it is stopped below.
    say(page, "[[tokens=4000 per_chunk=20 chunk_ms=300]]")
    at_end = "() => { const log = document.getElementById('log'); return log.scrollHeight > 2 * log.clientHeight }"
    page.set_viewport_size({"width": 390, "height": 500})
    page.wait_for_function(at_end)
    page.evaluate("document.getElementById('log').scrollTop = 0")
    expect(page.locator("#jump")).to_be_visible()
    grown = page.evaluate("document.getElementById('log').scrollHeight")
    page.wait_for_function("grown => document.getElementById('log').scrollHeight > grown", arg=grown)
    assert page.evaluate("document.getElementById('log').scrollTop") == 0
    page.click("#jump")
    expect(page.locator("#jump")).to_be_hidden()
    page.click("#stop")
