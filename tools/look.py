"""Screenshots of the console's pages, by Debian's chromium: `python -m tools.look FOLDER [PATH …]`.

Each page is taken in light, in dark, in Chinese, and as wide as a phone. What the browser complains about is printed.
`RECEIPT` stands for the path of a receipt that has something to tell, `CUSTOMER` for staff's page of the customer.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyotp
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tollkeeper.demo.past.calls import FIRST, SECOND
from tools.console import EMAIL, Running, running

STRANGERS = ("/sign-in", "/sign-up", "/forgot", "/sign-up/sent", "/no-such-page")
RECEIPT = "RECEIPT"
CUSTOMER = "CUSTOMER"
WIDE, PHONE = (1360, 900), (390, 844)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """As whom a page is looked at."""

    dark: bool = False
    size: tuple[int, int] = WIDE
    chinese: bool = False
    # Pixels of the picture for each of the page.
    sharpness: float = 1


LOOKS: Mapping[str, Look] = {
    "light": Look(),
    "dark": Look(dark=True),
    "zh": Look(chinese=True),
    "phone": Look(size=PHONE),
}


def main() -> None:
    folder, paths = Path(sys.argv[1]), sys.argv[2:] or ["/", "/security"]
    folder.mkdir(parents=True, exist_ok=True)
    with looking() as (console, browser):
        for name, look in LOOKS.items():
            with opened(browser, look) as page:
                _take(page, console, folder, name, STRANGERS)
                sign_in(page, console)
                _take(page, console, folder, name, paths)


@contextlib.contextmanager
def looking() -> Iterator[tuple[Running, Browser]]:
    """A console with a customer to look at, and a browser."""
    with running() as console, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        try:
            yield console, browser
        finally:
            browser.close()


@contextlib.contextmanager
def opened(browser: Browser, look: Look) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(
        color_scheme="dark" if look.dark else "light",
        viewport={"width": look.size[0], "height": look.size[1]},
        locale="zh-CN" if look.chinese else "en-US",
        device_scale_factor=look.sharpness,
    )
    page = context.new_page()

    def complain(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            print(page.url, message.text)

    page.on("console", complain)
    try:
        yield page
    finally:
        context.close()


def sign_in(page: Page, console: Running) -> None:
    page.goto(f"{console.base}/sign-in")
    page.fill("#email", EMAIL)
    page.fill("#password", console.told.password)
    page.press("#password", "Enter")
    page.wait_for_url(f"{console.base}/")


def sign_in_as_staff(page: Page, console: Running) -> None:
    """The customer becomes an operator, with a second factor: from now on they cannot sign in without one."""
    _command(console, "login", "role", str(console.account_id), "operator", "--reason", "to look at pages of staff")
    page.goto(f"{console.base}/sign-in")
    page.fill("#email", EMAIL)
    page.fill("#password", console.told.password)
    page.press("#password", "Enter")
    page.wait_for_url(f"{console.base}/security/second-factor")
    page.fill("#password", console.told.password)
    page.press("#password", "Enter")
    code = pyotp.TOTP(page.locator("main p code").first.inner_text().replace(" ", "")).now()
    page.fill("#code", code)
    page.press("#code", "Enter")
    page.locator("ul.recovery").wait_for()


def add_providers(console: Running) -> None:
    """The accounts at which the customer's calls were made, as a list of staff shows them. Nobody calls there."""
    for name in (FIRST, SECOND):
        _command(console, "provider", "add", name, "https://api.openai.com/v1", "--all-models", entered="sk-none")


def _command(console: Running, *words: str, entered: str = "") -> None:
    command = [sys.executable, "-m", "tollkeeper", *words]
    subprocess.run(
        command, env=os.environ | console.settings, input=entered, text=True, check=True, stdout=subprocess.DEVNULL
    )


def address(console: Running, path: str) -> str:
    known = {RECEIPT: f"/usage/{console.told.telling_call}", CUSTOMER: f"/staff/customers/{console.account_id}"}
    return console.base + known.get(path, path)


def _take(page: Page, console: Running, folder: Path, look: str, paths: Sequence[str]) -> None:
    for path in paths:
        page.goto(address(console, path))
        name = path.strip("/").replace("/", "-").replace("?", "-") or "home"
        page.screenshot(path=folder / f"{name}.{look}.png", full_page=True)


if __name__ == "__main__":
    main()
