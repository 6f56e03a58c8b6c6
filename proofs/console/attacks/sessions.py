"""Sessions and headers: a planted one, a stolen one, cookies' flags, who may frame a page. (Rows 12, 13.)"""

from playwright.sync_api import Browser

from proofs.console.attacks import Tally
from proofs.rig.console.place import Place
from proofs.rig.console.residents import Resident, address
from proofs.rig.console.visitor import Visitor
from proofs.rig.console.wire import SESSION_COOKIE, Wire
from tollkeeper.console.table import PAGES

PLANTED = "A" * 43
SIGNED_OUT = 303
FRAMES = "frame-ancestors 'none'"
NOTHING_ELSE = "default-src 'none'; script-src 'self'; style-src 'self'"
NO_HTML_FROM_TEXT = "require-trusted-types-for 'script'; trusted-types 'none'"


def attack(browser: Browser, place: Place, tally: Tally, owner: Resident) -> None:
    _fixation(place, tally, owner)
    _stolen(place, tally, owner)
    _cookies(browser, place, tally, owner)
    _headers(place, tally, owner)


def _fixation(place: Place, tally: Tally, owner: Resident) -> None:
    wire = Wire(place.console.port, place.url, owner.person.ip)
    wire.get("/sign-in")
    stranger = dict(wire.cookies)
    token = wire.token
    wire.cookies[SESSION_COOKIE] = PLANTED
    wire.get("/sign-in")
    wire.post("/sign-in", {"email": owner.person.email, "password": owner.person.password})
    tally.judge("a planted session is replaced", wire.session not in ("", PLANTED), wire.session)
    planter = Wire(place.console.port, place.url, place.new_ip())
    planter.cookies[SESSION_COOKIE] = PLANTED
    tally.judge("a planted session opens nothing", planter.get("/keys").status == SIGNED_OUT)
    tally.judge("what a stranger had is gone", not set(stranger) & set(wire.cookies), wire.cookies)
    before = wire.post("/sign-out", {"form_token": token})
    tally.judge("a token from before signing in is no token", before.status == 403, before.status)
    first = wire.session
    again = Wire(place.console.port, place.url, owner.person.ip)
    again.sign_in(owner.person)
    tally.judge("every sign-in has a session of its own", again.session != first)


def _stolen(place: Place, tally: Tally, owner: Resident) -> None:
    """Whoever copied the cookie has it until its owner ends it, and no longer."""
    wire, thief, third = (Wire(place.console.port, place.url, place.new_ip()) for _ in range(3))
    wire.sign_in(owner.person)
    thief.cookies[SESSION_COOKIE] = wire.session
    assert thief.get("/keys").status == 200
    wire.get("/")
    wire.post("/sign-out", {})
    tally.judge("a session that was signed out", thief.get("/keys").status == SIGNED_OUT)
    wire.sign_in(owner.person)
    third.sign_in(owner.person)
    thief.cookies[SESSION_COOKIE] = third.session
    wire.post("/security/sessions/end-others", {})
    tally.judge("a session that was ended elsewhere", thief.get("/keys").status == SIGNED_OUT)


def _cookies(browser: Browser, place: Place, tally: Tally, owner: Resident) -> None:
    visitor = Visitor(browser, place, owner.person.ip)
    visitor.go("/sign-in?lang=en")
    found = {cookie.get("name"): cookie for cookie in visitor.context.cookies()}
    visitor.sign_in(owner.person)
    found |= {cookie.get("name"): cookie for cookie in visitor.context.cookies()}
    for name, cookie in found.items():
        flags = (cookie.get("httpOnly"), cookie.get("secure"), cookie.get("sameSite"), cookie.get("path"))
        kept = flags in ((True, True, "Lax", "/"), (True, True, "Strict", "/"))
        tally.judge(f"cookie {name}", kept and str(name).startswith("__Host-"), flags)
    seen = visitor.page.evaluate("document.cookie")
    tally.judge("no script reads a cookie", seen == "" and SESSION_COOKIE in found, seen)
    visitor.close()


def _headers(place: Place, tally: Tally, owner: Resident) -> None:
    """Of every page: nobody frames it, keeps it, or makes it load what is not ours."""
    wire = Wire(place.console.port, place.url, owner.person.ip)
    wire.sign_in(owner.person)
    for page in PAGES:
        reply = wire.ask(page.method, address(page, owner.ids))
        policy = reply.header("content-security-policy")
        held = (
            policy.startswith(NOTHING_ELSE)
            and FRAMES in policy
            and NO_HTML_FROM_TEXT in policy
            and "unsafe" not in policy
            and reply.header("x-frame-options") == "DENY"
            and reply.header("x-content-type-options") == "nosniff"
            and reply.header("cache-control") == "no-store"
            and bool(reply.header("strict-transport-security"))
        )
        tally.judge(f"headers of {page.method} {page.path}", held, reply.headers)
