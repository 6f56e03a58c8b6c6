"""axe-core, as fetched by `make assets`, on a page that somebody has open: both themes, at a desk and on a phone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from proofs.rig.console.visitor import PHONE, WIDE, Visitor
from proofs.rig.proof import say

ColourScheme = Literal["light", "dark"]
SCRIPT = (Path(__file__).parent / "axe.min.js").read_text()
RUN = """rules => axe.run(document, rules.length ? {runOnly: rules} : {}).then(found =>
  found.violations.map(each => ({
    rule: each.id,
    nodes: each.nodes.map(node => node.target.join(" ") + " " + node.html.slice(0, 120)),
  })))"""
# A live page is not loaded anew while it is looked at.
STAY = "() => document.querySelector('main[data-refresh]')?.removeAttribute('data-refresh')"
# A theme changes colours and nothing else: in the dark, the rules about them are looked at once more.
OF_COLOURS = ["color-contrast", "link-in-text-block"]
RULES: Mapping[ColourScheme, list[str]] = {"light": [], "dark": OF_COLOURS}
SIZES = {"desk": WIDE, "phone": PHONE}
EVERY_WAY: Sequence[tuple[ColourScheme, str]] = (
    ("light", "desk"),
    ("light", "phone"),
    ("dark", "desk"),
    ("dark", "phone"),
)
# Of pages that take a journey: their parts are those of other pages.
QUICKLY: Sequence[tuple[ColourScheme, str]] = (("light", "desk"), ("dark", "phone"))


class Violation(msgspec.Struct, frozen=True):
    address: str
    theme: str
    size: str
    rule: str
    nodes: list[str]


class Looked(msgspec.Struct):
    pages: int = 0
    violations: list[Violation] = []


def look(visitor: Visitor, url: str, looked: Looked, pictures: Path | None) -> None:
    visitor.page.goto(url)
    look_here(visitor, url, looked, pictures, EVERY_WAY)


def look_here(
    visitor: Visitor, url: str, looked: Looked, pictures: Path | None, ways: Sequence[tuple[ColourScheme, str]]
) -> None:
    """The page that is open. `url` is what it is called: without a token that may be in its address."""
    visitor.page.evaluate(STAY)
    visitor.page.evaluate(SCRIPT)
    for theme, size in ways:
        width, height = SIZES[size]
        visitor.page.emulate_media(color_scheme=theme)
        visitor.page.set_viewport_size({"width": width, "height": height})
        for found in visitor.page.evaluate(RUN, RULES[theme]):
            violation = Violation(url, theme, size, found["rule"], found["nodes"])
            looked.violations.append(violation)
            say(f"axe: {json.dumps(msgspec.to_builtins(violation))}")
        if pictures is not None:
            name = url.partition("://")[2].partition(":")[0] + "-" + "-".join(urlsplit(url)[2:4])
            name = name.replace("/", "-").replace(" ", "-").strip("-")
            visitor.page.screenshot(path=pictures / f"{name}.{theme}.{size}.png", full_page=True)
    visitor.page.emulate_media(color_scheme="light")
    width, height = WIDE
    visitor.page.set_viewport_size({"width": width, "height": height})
