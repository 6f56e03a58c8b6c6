"""What every page has beside its HTML, in a real browser: the policy it is under, copying, forms that are sent once.

The page of these tests is a small one of their own, with the headers and the script of all pages.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect, sync_playwright

from tollkeeper.console.assets import FOLDER
from tollkeeper.console.guard import HEADERS

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.not_quick,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium"),
]
ADDRESS = "https://console.example"
PATIENCE_MS = 30_000
# As in pages_html/base.html.
PAGE = """<!doctype html><html lang="en"><head><title>A page</title>
<script src="/console.js" defer></script></head><body>
<main><p id="place">said</p><button type="button" data-copy="the key" hidden>Copy</button>
<form method="post" action="/keys/new"><button>Create</button></form></main>
<p class="spoken" id="spoken" role="status" data-copied="Copied." data-not-copied="Not copied."></p>
</body></html>"""

# Notes which submits would have been sent, and stops each: as if the reader had, before anything was answered.
STOPPED = """window.sent = [];
addEventListener("submit", (event) => { sent.push(!event.defaultPrevented); event.preventDefault(); });"""


def serve(route: Route) -> None:
    if route.request.url.endswith(".js"):
        route.fulfill(path=FOLDER / "console.js", content_type="text/javascript", headers=dict(HEADERS))
    else:
        route.fulfill(body=PAGE, content_type="text/html", headers=dict(HEADERS))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(locale="en-US")
    found = context.new_page()
    found.set_default_timeout(PATIENCE_MS)
    found.route("**/*", serve)
    yield found
    context.close()


ASSIGNED = [
    "() => { document.getElementById('place').innerHTML = '<b>x</b>'; }",
    "() => { document.getElementById('place').insertAdjacentHTML('beforeend', '<b>x</b>'); }",
    "() => { document.createElement('script').text = 'alert(1)'; }",
    "() => { document.createElement('script').src = '/console.js'; }",
    "() => { document.createElement('iframe').srcdoc = '<b>x</b>'; }",
    "() => { new DOMParser().parseFromString('<b>x</b>', 'text/html'); }",
    "() => { trustedTypes.createPolicy('mine', { createHTML: (text) => text }); }",
]


@pytest.mark.parametrize(
    "assigned", ASSIGNED, ids=["inner", "adjacent", "script", "its address", "frame", "parsed", "a policy"]
)
def test_no_script_of_a_page_can_make_html_from_text(page: Page, assigned: str) -> None:
    page.goto(ADDRESS)
    with pytest.raises(Error, match=r"TrustedHTML|TrustedScript|TrustedScriptURL|Policy"):
        page.evaluate(assigned)
    expect(page.locator("#place")).to_have_text("said")


def test_copying_is_said_in_words(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(ADDRESS)
    page.click("[data-copy]")
    expect(page.get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("() => navigator.clipboard.readText()") == "the key"


def test_a_clipboard_that_refuses_is_said_in_words_and_breaks_nothing(page: Page) -> None:
    problems: list[str] = []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    page.goto(ADDRESS)
    page.click("[data-copy]")
    expect(page.get_by_role("status")).to_have_text("Not copied.")
    assert problems == []


def test_a_form_is_sent_once_and_can_be_sent_again_when_no_answer_came(page: Page) -> None:
    page.add_init_script(STOPPED)
    page.clock.install()
    page.goto(ADDRESS)
    for _ in range(2):
        page.click("form button")
    assert page.evaluate("sent") == [True, False]
    page.clock.run_for(10_000)
    page.click("form button")
    assert page.evaluate("sent") == [True, False, True]


def test_a_live_page_is_loaded_anew_unless_somebody_is_busy_on_it(page: Page) -> None:
    live = PAGE.replace(
        "<main>", '<main data-refresh="15"><details><summary>More</summary></details><input id="field">'
    )
    page.route(ADDRESS + "/", lambda route: route.fulfill(body=live, content_type="text/html", headers=dict(HEADERS)))
    page.clock.install()
    page.goto(ADDRESS)
    page.evaluate("window.before = true")
    for busy, done in (
        ("#field", "document.activeElement.blur()"),
        ("summary", "document.querySelector('details').open = false"),
    ):
        page.click(busy)
        page.clock.run_for(20_000)
        assert page.evaluate("window.before") is True
        page.evaluate(done)
    page.evaluate("document.activeElement.blur()")
    # Its third time is due now, and not its fourth: one reload would end the other.
    with page.expect_navigation():
        page.clock.run_for(10_000)
    assert page.evaluate("window.before") is None
