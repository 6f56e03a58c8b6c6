"""Somebody at a real browser: one context, one page, and what everybody does with pages.

Rules of this file
1. Forms are found by where they go, fields by their names: both stay what they are in every language.
2. Whatever the browser complains about is kept: a page that breaks its own policy, a script that fails.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Playwright, Request, Response

from proofs.rig.console.place import Person, Place
from proofs.rig.patience import patience

CHROMIUM = "/usr/bin/chromium"
WIDE = (1360, 900)
PHONE = (390, 844)
# A safety net, not a measure.
WAIT_SECONDS = 60.0
# Answers that a page is meant to give; the browser calls each of them a failed resource.
FAILED_RESOURCE = "Failed to load resource"


def launched(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])


class Visitor:
    def __init__(self, browser: Browser, place: Place, ip: str = "", **ways: Any) -> None:
        """`ways`: what else the browser is like, as Playwright names it."""
        width, height = ways.pop("size", WIDE)
        given: dict[str, Any] = {
            "ignore_https_errors": True,
            "viewport": {"width": width, "height": height},
            "locale": "en-US",
            "extra_http_headers": {"X-Forwarded-For": ip or place.new_ip()},
        }
        self.place = place
        self.context = browser.new_context(**(given | ways))
        self.context.set_default_timeout(patience(WAIT_SECONDS) * 1000)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.page.on("requestfailed", self._fail)
        self.page.on("response", self._see)
        # Of the page that came last.
        self._status = 0

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(FAILED_RESOURCE):
            self.complaints.append(f"{self.page.url}: {message.text}")

    def _fail(self, request: Request) -> None:
        # A download, and a page that is left, end as aborted.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"{request.url}: {request.failure}")

    def _see(self, response: Response) -> None:
        if response.request.is_navigation_request() and response.frame == self.page.main_frame:
            self._status = response.status

    def close(self) -> None:
        self.context.close()

    def go(self, path: str) -> int:
        """The status of a page, which is open then."""
        answer = self.page.goto(self.place.url + path)
        assert answer is not None
        return answer.status

    def send(self, action: str, /, **fields: str | bool) -> int:
        """Fill in the form that goes to `action` on the open page, and send it; the status of what came."""
        form = self.form(action)
        for closed in form.locator("xpath=ancestor::details[not(@open)]/summary").all():
            closed.click()
        for name, value in fields.items():
            self._fill(form, name, value)
        with self.another_page():
            form.locator("button:not([type=button])").first.click()
        return self._status

    @contextmanager
    def another_page(self) -> Iterator[None]:
        """Within, the open page is left; another one is open afterwards."""
        with self.page.expect_event("load"):
            yield

    def form(self, action: str) -> Locator:
        return self.page.locator(f'form[action="{action}"]').first

    def _fill(self, form: Locator, name: str, value: str | bool) -> None:
        if isinstance(value, bool):
            form.locator(f'[name="{name}"]').first.set_checked(value)
            return
        field = form.locator(f'[name="{name}"]').first
        kind = field.evaluate("field => field.tagName + ' ' + field.type")
        if kind.startswith("SELECT"):
            field.select_option(value)
        elif kind.endswith((" radio", " checkbox")):
            form.locator(f'[name="{name}"][value="{value}"]').check()
        else:
            field.fill(value)

    def sign_in(self, person: Person) -> None:
        """As far as the home page."""
        self.go("/sign-in")
        self.send("/sign-in", email=person.email, password=person.password)
        assert self.path == "/", self.text

    @property
    def path(self) -> str:
        """Of the open page, without what is asked of it."""
        return self.page.url.removeprefix(self.place.url).partition("?")[0].partition("#")[0]

    @property
    def text(self) -> str:
        """What people read."""
        return self.page.locator("body").inner_text()

    @property
    def main(self) -> str:
        return self.page.locator("main").inner_text()

    def says(self, words: str) -> bool:
        """Whether it stands in the main part of the page."""
        return words in self.main

    def one(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text().strip()

    def titles(self, selector: str) -> list[str]:
        """What is said where the pointer rests."""
        return [each.get_attribute("title") or "" for each in self.page.locator(selector).all()]
