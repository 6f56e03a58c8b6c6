"""What is wrong with a built site: links and pictures that lead nowhere, and whatever is fetched from another server.

Rules of this file
1. Every page is read as the browser gets it: what the pages' author and what the site's builder wrote count alike.
2. A link to another server is fine; a script, style, font or picture from one is not: who reads the documentation tells
   nobody of it.
"""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
# A `link` of these kinds is fetched by itself.
FETCHED_KINDS = frozenset({"stylesheet", "icon", "preconnect", "preload", "prefetch", "dns-prefetch", "modulepreload"})
_STYLE_ADDRESS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?P<to>(?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """The links, the fetched addresses and the anchors of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.diagrams = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        # The theme's script would fetch what draws them.
        self.diagrams |= "mermaid" in given.get("class", "").split()
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and FETCHED_KINDS & set(given.get("rel", "").split()):
            self.fetched.append(given.get("href", ""))
        elif (name := FETCHED.get(tag)) and name in given:
            self.fetched.append(given[name])


def problems(site: Path) -> list[str]:
    """One line for each, sorted."""
    pages = {file: Page(file.read_text("utf-8")) for file in sorted(site.rglob("*.html"))}
    found = [f"{file.relative_to(site)}: {line}" for file in pages for line in _of_page(file, pages, site)]
    for style in sorted(site.rglob("*.css")):
        outside = _STYLE_ADDRESS.findall(style.read_text("utf-8"))
        found += [f"{style.relative_to(site)}: fetches {to}" for to in outside]
    return found


def _of_page(file: Path, pages: Mapping[Path, Page], site: Path) -> Iterator[str]:
    page = pages[file]
    if page.diagrams:
        yield "has a diagram whose script would come from another server"
    for to in page.fetched:
        if urlsplit(to).netloc:
            yield f"fetches {to}"
        elif not to.startswith("data:") and (dead := _dead(file, to, pages, site)):
            yield dead
    # Nobody's relative link leads from the page for what is not found.
    for to in page.links if file.name != "404.html" else ():
        if not urlsplit(to).scheme and not urlsplit(to).netloc and (dead := _dead(file, to, pages, site)):
            yield dead


def _dead(file: Path, to: str, pages: Mapping[Path, Page], site: Path) -> str | None:
    """What is wrong with a link within the site."""
    parts = urlsplit(to)
    target = file if not parts.path else _target(file, unquote(parts.path), site)
    if not target.exists():
        return f"dead link: {to}"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return f"no such heading: {to}"
    return None


def _target(file: Path, path: str, site: Path) -> Path:
    found = (site / path.lstrip("/") if path.startswith("/") else file.parent / path).resolve()
    return found / "index.html" if found.is_dir() else found
