"""The pictures of README and guides, taken anew: `make pictures`. Look at each of them afterwards."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from playwright.sync_api import Page

from tools.console import Running
from tools.look import (
    CUSTOMER,
    PHONE,
    RECEIPT,
    Look,
    add_providers,
    address,
    looking,
    opened,
    sign_in,
    sign_in_as_staff,
)

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
# What whoever clones the project, or reads it on the way, should not have to wait for.
BYTES_MOST = 200_000
# As pages look behind TLS.
WITHOUT_WARNING = "document.querySelector('.plain-http')?.remove()"


class Picture(msgspec.Struct, frozen=True):
    path: str
    look: Look
    # Without: all of the page.
    height: int | None = None


PICTURES: Mapping[str, Picture] = {
    "home": Picture("/", Look(), 900),
    "usage": Picture("/usage", Look(), 1_000),
    "receipt": Picture(RECEIPT, Look(size=(1360, 500))),
    "keys": Picture("/keys", Look(), 800),
    "home-phone-dark": Picture("/", Look(dark=True, size=PHONE, sharpness=1.5), 844),
    "top-up-chinese": Picture("/top-up", Look(chinese=True), 730),
}
# As staff see it.
STAFF: Mapping[str, Picture] = {
    "staff-overview": Picture("/staff", Look(dark=True, size=(1360, 1200)), 1_200),
    "staff-customer": Picture(CUSTOMER, Look(size=(1360, 1000)), 1_000),
}


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with looking() as (console, browser):
        for name, picture in PICTURES.items():
            with opened(browser, picture.look) as page:
                sign_in(page, console)
                _take(page, console, name, picture)
        with opened(browser, Look()) as page:
            add_providers(console)
            sign_in_as_staff(page, console)
            for name, picture in STAFF.items():
                page.emulate_media(color_scheme="dark" if picture.look.dark else "light")
                _take(page, console, name, picture)
    names = (*PICTURES, *STAFF)
    for name in names:
        _shrink(_file(name))
    sizes = {name: _file(name).stat().st_size for name in names}
    print(*(f"{size:>8,} bytes  {_file(name)}" for name, size in sizes.items()), sep="\n")
    too_large = [name for name, size in sizes.items() if size >= BYTES_MOST]
    if too_large:
        print(f"Too large: {', '.join(too_large)}. Install pngquant, or show less of the page.", file=sys.stderr)
    return 1 if too_large else 0


def _take(page: Page, console: Running, name: str, picture: Picture) -> None:
    page.goto(address(console, picture.path))
    page.evaluate(WITHOUT_WARNING)
    if picture.height is not None:
        page.set_viewport_size({"width": picture.look.size[0], "height": picture.height})
    page.screenshot(path=_file(name), full_page=picture.height is None)


def _file(name: str) -> Path:
    return FOLDER / f"{name}.png"


def _shrink(file: Path) -> None:
    """With 256 colours, where Debian's pngquant is installed: nobody sees the difference."""
    if program := shutil.which("pngquant"):
        subprocess.run([program, "--force", "--skip-if-larger", "--ext=.png", "256", str(file)], check=False)


if __name__ == "__main__":
    sys.exit(main())
