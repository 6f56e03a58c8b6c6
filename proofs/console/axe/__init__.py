"""axe-core, as fetched by `make assets`, on every page of the table: both themes, at a desk and on a phone. Pages that
forms lead to are looked at as well."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from playwright.sync_api import Browser

from proofs.console.axe.behind_forms import behind_forms
from proofs.console.place import BILLING_HOST, Place
from proofs.console.residents import Resident, address, shown_pages
from proofs.console.visitor import PHONE, WIDE, Visitor
from proofs.rig.proof import say
from tollkeeper.console.pages import Who

ColourScheme = Literal["light", "dark"]
SCRIPT = (Path(__file__).parent / "axe.min.js").read_text()
RUN = """rules => axe.run(document, rules.length ? {runOnly: rules} : {}).then(found =>
  found.violations.map(each => ({
    rule: each.id,
    nodes: each.nodes.map(node => node.target.join(" ") + " " + node.html.slice(0, 120)),
  })))"""
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
# Beyond the table: what is shown where something is wrong.
WRONG = ("/no-such-page", "/usage?from=nonsense", "/statements?month=nonsense")
# Of the gateway itself, by host: what it shows to everybody.
OUTSIDE = {"127.0.0.1": ("/", "/prices"), BILLING_HOST: ("/", "/balance")}


class Violation(msgspec.Struct, frozen=True):
    address: str
    theme: str
    size: str
    rule: str
    nodes: list[str]


class Looked(msgspec.Struct):
    pages: int = 0
    violations: list[Violation] = []


def look_at_every_page(browser: Browser, place: Place, resident: Resident, pictures: Path | None) -> Looked:
    looked = Looked()
    # Colours that are on their way from one theme to the other are nobody's.
    stranger = Visitor(browser, place, reduced_motion="reduce")
    owner = Visitor(browser, place, resident.person.ip, reduced_motion="reduce")
    owner.sign_in(resident.person)
    pages = [(page.who, address(page, resident.ids)) for page in shown_pages()]
    pages += [(Who.SIGNED_IN, each) for each in WRONG]
    for who, path in pages:
        looked.pages += 1
        visitor = stranger if who in (Who.STRANGER, Who.ANYBODY) else owner
        _look(visitor, place.url + path, looked, pictures)
    for visitor, name in behind_forms(browser, place):
        looked.pages += 1
        _look_here(visitor, f"{visitor.page.url.partition('?')[0]} ({name})", looked, pictures, QUICKLY)
        assert visitor.complaints == [], visitor.complaints
    for host, paths in OUTSIDE.items():
        for path in paths:
            looked.pages += 1
            _look(stranger, f"http://{host}:{place.node.port}{path}", looked, pictures)
    assert stranger.complaints + owner.complaints == [], stranger.complaints + owner.complaints
    stranger.close()
    owner.close()
    return looked


def _look(visitor: Visitor, url: str, looked: Looked, pictures: Path | None) -> None:
    visitor.page.goto(url)
    _look_here(visitor, url, looked, pictures, EVERY_WAY)


def _look_here(
    visitor: Visitor, url: str, looked: Looked, pictures: Path | None, ways: Sequence[tuple[ColourScheme, str]]
) -> None:
    """The page that is open. `url` is what it is called: without a token that may be in its address."""
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
