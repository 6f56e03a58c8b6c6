"""Screenshots of the console's pages, by Debian's chromium: `python -m tools.look FOLDER [PATH …]`.

Each page is taken in light, in dark, in Chinese, and as wide as a phone. What the browser complains about is printed.
`RECEIPT` stands for the path of a receipt that has something to tell.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tools.console import EMAIL, Running, running

STRANGERS = ("/sign-in", "/sign-up", "/forgot", "/sign-up/sent", "/no-such-page")
RECEIPT = "RECEIPT"
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


def address(console: Running, path: str) -> str:
    return console.base + (f"/usage/{console.told.telling_call}" if path == RECEIPT else path)


def _take(page: Page, console: Running, folder: Path, look: str, paths: Sequence[str]) -> None:
    for path in paths:
        page.goto(address(console, path))
        name = path.strip("/").replace("/", "-").replace("?", "-") or "home"
        page.screenshot(path=folder / f"{name}.{look}.png", full_page=True)


if __name__ == "__main__":
    main()
