"""Forms that others send: every row of the table that changes something, without the visitor's own page. (Row 13.)"""

from collections.abc import Iterator, Mapping

from playwright.sync_api import Browser

from proofs.console.attacks import Tally
from proofs.console.attacks.elsewhere import Elsewhere
from proofs.console.attacks.owned import what_is_owned
from proofs.rig.console.place import Place
from proofs.rig.console.residents import Resident, address
from proofs.rig.console.visitor import Visitor
from proofs.rig.console.wire import Wire
from tollkeeper.console.pages import Who
from tollkeeper.console.table import PAGES

FORBIDDEN, NOT_THAT_WAY = 403, 405


def foreign_pages(origin: str) -> Mapping[str, dict[str, str]]:
    """What browsers say of forms that are not on a page of ours."""
    return {
        "another origin": {"Origin": "https://evil.example"},
        "no origin": {"Origin": "null"},
        "nothing said": {},
        "another site": {"Origin": origin, "Sec-Fetch-Site": "cross-site"},
        "a neighbour": {"Origin": origin, "Sec-Fetch-Site": "same-site"},
        "typed in": {"Origin": origin, "Sec-Fetch-Site": "none"},
    }


def attack(browser: Browser, place: Place, tally: Tally, owner: Resident, other: Resident) -> None:
    wire, others = (Wire(place.console.port, place.url, each.person.ip) for each in (owner, other))
    wire.sign_in(owner.person)
    others.sign_in(other.person)
    before = what_is_owned(place, owner)
    stranger = Wire(place.console.port, place.url, place.new_ip())
    for page in (page for page in PAGES if page.method == "POST"):
        visitor = stranger if page.who is Who.STRANGER else wire
        visitor.get("/sign-in" if visitor is stranger else "/")
        path = address(page, owner.ids)
        for name, status in _sent(visitor, others, path, place.url):
            tally.judge(f"POST {path}, {name}", status == FORBIDDEN, status)
        if page.path not in {each.path for each in PAGES if each.method == "GET"}:
            status = visitor.get(path).status
            tally.judge(f"GET for POST {path}", status == NOT_THAT_WAY, status)
    wire.get("/")
    wire.post("/keys/new", {"name": "without a form id"})
    tally.judge("what is mine is as it was", what_is_owned(place, owner) == before)
    _from_a_page_elsewhere(browser, place, tally, owner)


def _sent(visitor: Wire, others: Wire, path: str, origin: str) -> Iterator[tuple[str, int]]:
    yield "no token", visitor.post(path, {"form_token": ""}).status
    yield "another's token", visitor.post(path, {"form_token": others.token}).status
    for name, headers in foreign_pages(origin).items():
        yield name, visitor.post(path, {}, headers).status


def _from_a_page_elsewhere(browser: Browser, place: Place, tally: Tally, owner: Resident) -> None:
    """As a victim would meet it: a real page of another site, in the browser that is signed in."""
    visitor = Visitor(browser, place, owner.person.ip)
    visitor.sign_in(owner.person)
    token = visitor.page.locator("[name=form_token]").first.input_value()
    before = what_is_owned(place, owner)
    with Elsewhere() as evil:
        evil.page = (
            f'<form id=f method=post action="{place.url}/keys/new"><input name=form_token value="{token}">'
            '<input name=name value=stolen></form><script>document.getElementById("f").submit()</script>'
        )
        with visitor.page.expect_navigation(url=f"{place.url}/**"):
            visitor.page.goto(evil.url, wait_until="commit")
        tally.judge("a form on another site", what_is_owned(place, owner) == before, visitor.path)

        evil.page = f'<iframe src="{place.url}/keys"></iframe>'
        visitor.page.goto(evil.url)
        framed = [frame.url for frame in visitor.page.frames[1:]]
        inside = [frame.locator("body").inner_text() for frame in visitor.page.frames[1:]]
        tally.judge("a frame on another site", not any("Your keys" in text for text in inside), framed)

        evil.page = "<h1>elsewhere</h1>"
        visitor.page.goto(evil.url)
        read = visitor.page.evaluate(
            "url => fetch(url, {credentials: 'include'}).then(answer => answer.text(), () => 'refused')",
            f"{place.url}/keys",
        )
        tally.judge("read by a script of another site", read == "refused", read)
    visitor.close()
