"""Scripts in every text that comes back, in a real browser. (Row 12.)

Nothing runs, no node is made, and the policy has nothing to stop.

Rules of this file
1. A text must come back, to the letter: where it does not, nothing was tried. Paths alone need not.
2. What would find a script finds one that is planted, or the figures mean nothing.
"""

import random
from collections.abc import Callable, Sequence
from urllib.parse import quote

import msgspec
from playwright.sync_api import Browser, Page

from proofs.console.attacks import Tally
from proofs.console.attacks.payloads import PAYLOADS
from proofs.rig.console.place import Person, Place
from proofs.rig.console.second_factor import set_up_an_app
from proofs.rig.console.visitor import Visitor
from proofs.rig.console.wire import Wire

# Before anything of a page runs.
WATCH = """
window.traces = [];
window.alert = window.confirm = window.prompt = () => { window.traces.push("a script ran"); };
document.addEventListener("securitypolicyviolation", (event) => {
  window.traces.push("stopped: " + event.violatedDirective);
});
"""
# What a script would have left, and every text that the page has, as people see or send it.
TRACES = """() => {
  const found = [...window.traces];
  const all = [...document.querySelectorAll("*")];
  for (const node of all) {
    const names = node.getAttributeNames();
    if (names.includes("data-xss")) found.push("a node: " + node.tagName);
    if (names.some(name => name.startsWith("on"))) found.push("a handler: " + node.tagName);
    const way = node.getAttribute("href") || node.getAttribute("action") || "";
    if (/^\\s*javascript:/i.test(way)) found.push("a link that runs");
  }
  const texts = [document.documentElement.textContent, document.title];
  const told = (node) => [node.value, node.getAttribute("title"), node.getAttribute("data-copy")];
  for (const node of all) texts.push(...told(node));
  return {found, texts: texts.filter(text => typeof text === "string").join("\\n")};
}"""
# As whoever attacks would send it: what browsers check of a form is not in the way.
SEND = """([action, fields]) => {
  const form = document.querySelector(`form[action="${action}"]`);
  form.noValidate = true;
  for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
  form.submit();
}"""


class Reflects(msgspec.Struct, frozen=True):
    """A page that says again what it was sent: by its address, or by a form on it."""

    path: str
    # Empty: the text is in the address.
    action: str = ""
    fields: tuple[str, ...] = ()
    # What else the form needs.
    beside: dict[str, str] = {}
    signed_in: bool = True
    # Whether the page says it again; else it is tried as a part of the path.
    shown: bool = True


REFLECTING = (
    Reflects("/prices?q="),
    Reflects("/usage?id="),
    Reflects("/usage?model="),
    Reflects("/top-up?gift="),
    Reflects("/prices/", shown=False),
    Reflects("/no-such-page/", shown=False),
    Reflects("/sign-up?invite=", signed_in=False),
    Reflects("/i/", signed_in=False, shown=False),
    Reflects("/reset?token=", signed_in=False),
    Reflects("/sign-up", "/sign-up", ("email", "name", "invite"), signed_in=False),
    Reflects("/sign-in", "/sign-in", ("email",), {"password": "not this one"}, signed_in=False),
    Reflects("/forgot", "/forgot", ("email",), signed_in=False),
    Reflects("/keys/new", "/keys/new", ("name", "quota", "daily_budget", "monthly_budget", "networks")),
    Reflects("/top-up", "/top-up", ("code", "gift_code")),
    Reflects("/security/email", "/security/email", ("email",), {"password": "not this one"}),
    Reflects("/security/passkeys/new", "/security/passkeys/new", ("name",), {"password": "not this one"}),
    Reflects("/notices", "/notices", ("low_balance_below", "day_spend_above")),
    Reflects("/partner", "/partner", ("amount", "payee"), {"code": "000000"}),
)


def attack(browser: Browser, place: Place, tally: Tally, chance: random.Random, *, each: int) -> None:
    """`each`: with how many texts every page that reflects is tried; what is stored is tried with all of them."""
    control(browser, place)
    person = place.a_person()
    owner = Visitor(browser, place, person.ip)
    stranger = Visitor(browser, place)
    for visitor in (owner, stranger):
        visitor.context.add_init_script(WATCH)
    owner.sign_in(person)
    set_up_an_app(owner, person)
    for reflects in REFLECTING:
        visitor = owner if reflects.signed_in else stranger
        for text in chance.sample(PAYLOADS, each):
            _reflect(visitor, reflects, text)
            _judge(visitor.page, tally, f"{reflects.path} {reflects.action}", [text], shown=reflects.shown)
    for path, texts in _stored(place, person, each):
        owner.go(path)
        _judge(owner.page, tally, path, texts)
    _names(owner, person, tally, chance.sample(PAYLOADS, each))
    owner.close()
    stranger.close()


def control(browser: Browser, place: Place) -> None:
    """A page that does not escape: every kind of trace is found on it."""
    visitor = Visitor(browser, place)
    visitor.context.add_init_script(WATCH)
    visitor.page.route(
        "**/planted", lambda route: route.fulfill(body=PAYLOADS[0] + PAYLOADS[4], content_type="text/html")
    )
    visitor.page.goto(f"{place.url}/planted")
    found = visitor.page.evaluate(TRACES)["found"]
    assert {"a script ran", "a node: SCRIPT", "a node: IMG", "a handler: IMG"} <= set(found), found
    policy = {"Content-Security-Policy": "script-src 'self'"}
    visitor.page.route(
        "**/guarded", lambda route: route.fulfill(body=PAYLOADS[0], content_type="text/html", headers=policy)
    )
    visitor.page.goto(f"{place.url}/guarded")
    assert any(trace.startswith("stopped") for trace in visitor.page.evaluate(TRACES)["found"])
    visitor.close()


def _reflect(visitor: Visitor, reflects: Reflects, text: str) -> None:
    if not reflects.action:
        visitor.go(reflects.path + quote(text, safe=""))
        return
    # What was refused comes back with its form, for the next one.
    if visitor.form(reflects.action).count() == 0:
        visitor.go(reflects.path)
    fields = dict.fromkeys(reflects.fields, text) | reflects.beside
    with visitor.another_page():
        visitor.page.evaluate(SEND, [reflects.action, fields])


def _judge(page: Page, tally: Tally, where: str, texts: Sequence[str], *, shown: bool = True) -> None:
    traces = page.evaluate(TRACES)
    for text in texts:
        comes_back = text in traces["texts"] or not shown
        detail = traces["found"] or "it did not come back"
        tally.judge(f"{where} with {text}", comes_back and not traces["found"], detail)


def _stored(place: Place, person: Person, each: int) -> list[tuple[str, Sequence[str]]]:
    """Names of keys, what browsers call themselves, whom a withdrawal goes to: and the pages on which they stand."""
    place.rows(
        "insert into api_key (account_id, name, pepper_version, digest, hint)"
        " select $1::bigint, name, 1, sha256(gen_random_uuid()::text::bytea), 'sk-…' from unnest($2::text[]) name",
        person.account_id,
        PAYLOADS,
    )
    place.rows(
        "insert into withdrawal (account_id, usd_micros, payee, state, decided_at, decided_by, reason)"
        " select $1, 1000000, payee, 'refused', ledger_now(), 'proof', payee from unnest($2::text[]) payee",
        person.account_id,
        PAYLOADS,
    )
    place.rows(
        "insert into session (digest, account_id, expires_at, ip, agent)"
        " select sha256(gen_random_uuid()::text::bytea), $1::bigint, ledger_now() + interval '1 day', agent, agent"
        " from unnest($2::text[]) agent",
        person.account_id,
        PAYLOADS,
    )
    place.rows(
        "insert into passkey (account_id, name, credential_id, public_key, user_handle, sign_count, transports)"
        " select $1, left(name, 60), sha256(gen_random_uuid()::text::bytea), 'none', 'none', 0, '{}'"
        " from unnest($2::text[]) name",
        person.account_id,
        PAYLOADS,
    )
    keys = place.rows("select id, name from api_key where account_id = $1 order by id", person.account_id)
    pages: list[tuple[str, Sequence[str]]] = [(path, PAYLOADS) for path in ("/keys", "/usage", "/partner", "/security")]
    acts: Sequence[Callable[[int], str]] = (
        lambda key_id: f"/keys/{key_id}",
        lambda key_id: f"/keys/{key_id}/rotate",
        lambda key_id: f"/keys/{key_id}/revoke",
    )
    chosen = keys[:: len(keys) // each]
    pages += [(acts[number % len(acts)](key["id"]), [key["name"]]) for number, key in enumerate(chosen)]
    return pages


def _names(owner: Visitor, person: Person, tally: Tally, texts: Sequence[str]) -> None:
    """Of the account, which stands in a heading and in the page's title."""
    for text in texts:
        owner.place.rows("update account set name = $2 where id = $1", person.account_id, text)
        owner.go("/")
        _judge(owner.page, tally, "/ by name", [text])


def headers_that_are_shown(place: Place, person: Person, tally: Tally) -> None:
    """A browser's name as it signs in, and an address that a proxy passes on: stored, and shown escaped."""
    wire = Wire(place.console.port, place.url, person.ip)
    wire.get("/sign-in")
    text = PAYLOADS[4]
    reply = wire.post(
        "/sign-in", {"email": person.email, "password": person.password}, wire.own_page | {"User-Agent": text}
    )
    page = wire.get("/security").text
    tally.judge("User-Agent", reply.status == 303 and text not in page and "&lt;img data-xss" in page, page)
