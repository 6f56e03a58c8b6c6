"""A visit: one request, who makes it, and how it is answered.

Rules of this file
1. Handlers read `visit` and return what one of its methods makes.
2. A page that was asked for is made whole on the server; what follows from a POST is another page (303).
3. A secret that is shown once is the answer to its POST itself: it is kept nowhere.
"""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from babel.dates import format_datetime
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.console import cookies
from tollkeeper.console.cookies import Cookies
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.forms import Form
from tollkeeper.console.paths import own_path
from tollkeeper.console.refusals import WORDS
from tollkeeper.console.seals import Seals
from tollkeeper.console.templates import Templates
from tollkeeper.console.turns import Turns
from tollkeeper.console.words import LOCALES, choose_language, translations
from tollkeeper.core.catalog.price_book import PriceBook
from tollkeeper.core.client_ip import client_ip
from tollkeeper.core.people.logins import LIFETIMES, Actor, LoginRefusal, Role, SessionRecord, TooManyAttempts
from tollkeeper.ports.customers.wallet import Wallet
from tollkeeper.ports.readings import ReadAs

THEMES = ("auto", "light", "dark")


class House:
    """What all visits share."""

    def __init__(self, desks: Desks, site: Site, paths: Collection[str]) -> None:
        self.desks = desks
        self.site = site
        self.seals = Seals(site.secret)
        self.cookies = Cookies(secure=site.is_secure)
        self.templates = Templates(site, paths)
        self.turns = Turns()
        # Of the pages that can be had by GET.
        self.paths = paths


class Visit:
    def __init__(self, house: House, request: Request, *, stranger: str) -> None:
        """`stranger` tells visitors apart who are not signed in."""
        self.house = house
        self.desks = house.desks
        self.site = house.site
        self.request = request
        self.stranger = stranger
        self.token = house.cookies.read(request, cookies.SESSION)
        # Of whoever is signed in; for pages that staff read as a customer, what stands for the customer's (`respond`).
        self.found: SessionRecord | None = None
        # Who is signed in, whoever they read as: their name stands on the record.
        self.signed_in: SessionRecord | None = None
        self.reading: ReadAs | None = None
        self.wallet: Wallet | None = None
        self.form = Form()
        self.language = choose_language(
            asked=request.query_params.get("lang", ""),
            kept=house.cookies.read(request, cookies.LANGUAGE),
            accepted=request.headers.get("accept-language", ""),
        )
        kept = house.cookies.read(request, cookies.THEME)
        self.theme = kept if kept in THEMES else "auto"

    @property
    def session(self) -> SessionRecord:
        """The session of whoever is signed in: a page for strangers must not ask."""
        if self.found is None:
            raise RuntimeError("this page is not for strangers only: its row in the table must say so")
        return self.found

    @property
    def account_id(self) -> int:
        return self.session.account_id

    @property
    def actor(self) -> str:
        """As the audit trail names who acts: whoever is signed in, never whom they read as."""
        return f"account:{(self.signed_in or self.session).account_id}"

    @property
    def by(self) -> Actor:
        """Staff who act on what is another's."""
        return Actor(self.actor, (self.signed_in or self.session).role)

    @property
    def front_desk(self) -> FrontDesk:
        return self.desks.front_desk

    @property
    def visitor(self) -> RequestOrigin:
        request = self.request
        peer = request.client.host if request.client else ""
        ip = client_ip(peer, request.headers.getlist("x-forwarded-for"), self.site.trusted_proxies)
        return RequestOrigin(ip=str(ip or ""), agent=request.headers.get("user-agent", ""))

    async def price_book(self) -> PriceBook:
        """The models that whoever is signed in may use, at the prices of their group."""
        if self.wallet is None:
            raise RuntimeError("this page is not for strangers only: its row in the table must say so")
        return await self.desks.price_list.for_group(self.wallet.group)

    @property
    def bound_to(self) -> str:
        """What tokens of this visitor's forms are bound to. Forms of pages that were read as a customer are good for
        nothing afterwards: by then they would be about the reader's own account."""
        if self.found is None:
            return self.stranger
        return self.token if self.reading is None else f"{self.token} reading {self.reading.reading_id}"

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def here(self) -> str:
        """Where to come back to: this very page or, where it is the answer to a form, the one above it."""
        if self.request.method != "POST":
            return self._here_without("lang")
        path = self.request.url.path
        while path and path not in self.house.paths:
            path = path.rpartition("/")[0]
        token = self.form.exactly("token")
        return own_path(f"{path or '/'}?{urlencode({'token': token})}" if token else path)

    def _here_without(self, *names: str) -> str:
        kept = urlencode([pair for pair in self.request.query_params.multi_items() if pair[0] not in names])
        path = self.request.url.path
        return own_path(f"{path}?{kept}" if kept else path)

    def gettext(self, text: str, **values: object) -> str:
        """In the visitor's language."""
        told = translations(self.language).gettext(text)
        return told % values if values else told

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Make a page. A form with errors on it is 422."""
        status = 422 if status == 200 and not self.form.is_good else status
        shown = self.house.templates.render(template, self, values)
        response = Response(shown, status, media_type="text/html")
        if self.found is None:
            self.house.cookies.write(response, cookies.STRANGER, self.stranger)
        if self.query.get("lang") == self.language:
            self.house.cookies.write(response, cookies.LANGUAGE, self.language, seconds=cookies.YEAR_SECONDS)
        return response

    def go(self, path: str, **query: str) -> Response:
        """See another page. `done` is the name of a note that it is to show (`notes.py`)."""
        return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)

    def go_and_sign_in(self) -> Response:
        here = self._here_without("lang", "done") if self.request.method == "GET" else "/"
        way = f"?next={quote(here, safe='/')}" if here != "/" else ""
        response = RedirectResponse(f"/sign-in{way}", 303)
        if self.token:
            self.house.cookies.drop(response, cookies.SESSION)
        return response

    def refuse(self, refusal: LoginRefusal, *, field: str | None = None) -> int:
        """Say on the form why it cannot be taken; the status for that. `field`: where this form asks for it."""
        words = WORDS[type(refusal)]
        values: dict[str, object] = {}
        if isinstance(refusal, TooManyAttempts):
            told = format_datetime(refusal.until, "yyyy-MM-dd HH:mm", locale=LOCALES[self.language])
            values = {"until": f"{told} UTC"}
        self.form.refuse(words.field if field is None else field, self.gettext(words.text, **values))
        return words.status

    def sign_in(self, response: Response, token: str) -> Response:
        """From now on the browser has this session, and nothing of what it was before."""
        lasts = round(LIFETIMES[Role.CUSTOMER].longest.total_seconds())
        self.house.cookies.write(response, cookies.SESSION, token, seconds=lasts)
        self.house.cookies.drop(response, cookies.STRANGER)
        return response

    def sign_out(self, response: Response) -> Response:
        self.house.cookies.drop(response, cookies.SESSION)
        return response
