"""The gateway's own pages, made from templates.

Rules of this file
1. What is the same for everybody is made once, when the process starts.
2. The language stands in the path (`/zh/balance`), or is the first of the browser's that we have.
3. A page has no script, and what a visitor typed is never in it again.
"""

from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tollkeeper.core.errors import GatewayError
from tollkeeper.edge.documents import Document, document
from tollkeeper.edge.http.exchange import HTML, Exchange
from tollkeeper.edge.pages.refusal_words import words_for
from tollkeeper.edge.pages.site import GatewaySite
from tollkeeper.look import figures
from tollkeeper.look.words import LANGUAGES, TAGS, choose_language, translations
from tollkeeper.ports.customers.lots import OpenLots

ROOM = Path(__file__).parent
WORDS = ROOM / "words"
HTML_TYPE = HTML[0][1]
ASSETS = {
    "/pages.css": ("pages.css", b"text/css; charset=utf-8"),
    # Browsers ask for it by this name and go by its type.
    "/favicon.ico": ("mark.svg", b"image/svg+xml"),
    "/robots.txt": ("robots.txt", b"text/plain; charset=utf-8"),
}


class GatewayPages:
    def __init__(self, site: GatewaySite, lots: OpenLots) -> None:
        self.lots = lots
        self._environments = {language: _environment(site, language) for language in LANGUAGES}
        self.front = self._for_everybody("front.html", path="")
        self.balance_form = self._for_everybody("balance.html", path="/balance", error="", found=None)
        self.assets = {
            path: document((ROOM / "assets" / name).read_bytes(), kind) for path, (name, kind) in ASSETS.items()
        }

    def render(self, template: str, language: str, **values: Any) -> bytes:
        return self._environments[language].get_template(template).render(values).encode()

    def refused(self, refusal: GatewayError, exchange: Exchange) -> bytes:
        """The form again, with what is wrong beside its field."""
        language = language_of(exchange)
        told = translations(WORDS, language).gettext(words_for(refusal)) % {"request": exchange.id_text}
        return self.render("balance.html", language, path="/balance", error=told, found=None)

    def _for_everybody(self, template: str, **values: Any) -> dict[str, Document]:
        return {language: document(self.render(template, language, **values), HTML_TYPE) for language in LANGUAGES}


def language_of(exchange: Exchange) -> str:
    asked = exchange.path.split("/", 2)[1]
    accepted = exchange.header_lines(b"accept-language")
    return choose_language(asked=asked, kept="", accepted=accepted[0].decode("latin-1") if accepted else "")


def _environment(site: GatewaySite, language: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("tollkeeper.edge.pages", "html"),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.install_gettext_translations(translations(WORDS, language), newstyle=True)  # type: ignore[attr-defined]
    environment.globals.update(
        site=site,
        language=language,
        language_tag=TAGS[language],
        # As each calls itself, and as browsers know it.
        others=[(other, TAGS[other], name) for other, name in LANGUAGES.items() if other != language],
    )
    environment.filters.update(
        usd_cell=figures.usd_cell,
        day=partial(figures.day, language=language),
        moment=partial(figures.moment, language=language),
        tokens=figures.quota_tokens,
    )
    return environment
