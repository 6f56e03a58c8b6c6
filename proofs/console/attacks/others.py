"""What is another's: every row of the table with an id in it, asked for by somebody whose it is not. (Row 14.)

Rules of this file
1. Another's id looks like one that never was: the same status, and the same page.
2. What the other one owns is as it was, also where the form had everything that a form of one's own has.
"""

import re
import uuid

from proofs.console.attacks import Tally
from proofs.console.attacks.owned import what_is_owned
from proofs.rig.console.place import Place
from proofs.rig.console.residents import PUBLIC, Resident, address, parameters
from proofs.rig.console.wire import Reply, Wire
from tollkeeper.app.console import site_of
from tollkeeper.console.pages import Page
from tollkeeper.console.seals import Seals
from tollkeeper.console.table import PAGES
from tollkeeper.settings import load

# Everybody may follow anybody's invite, and read every model's price.
FOR_ALL = {*PUBLIC, "gift_code"}
# A number as rows have it, and of none.
NUMBER_OF_NONE = "123456789012345"
CHANGING = re.compile(r'(name="form_token" value|name="form_id" value|name="back" value)="[^"]*"')
# What a form could ask for; each handler takes what it knows.
FIELDS = {"name": "taken over", "which_models": "every", "keep_hours": "0"}
ASKED_FOR = {"/usage": ("key", "id"), "/usage.csv": ("key", "id")}


def attack(place: Place, tally: Tally, attacker: Resident, victim: Resident) -> None:
    wire = Wire(place.console.port, place.url, attacker.person.ip)
    wire.sign_in(attacker.person)
    before = what_is_owned(place, victim)
    seals = Seals(site_of(load(place.settings)).secret)
    for page in PAGES:
        if set(parameters(page)) - FOR_ALL:
            _try(wire, seals, page, tally, victim)
    _ask_for(wire, tally, victim)
    tally.judge("what the other one owns is as it was", what_is_owned(place, victim) == before)
    _assign_more(place, wire, seals, tally, victim)


def _try(wire: Wire, seals: Seals, page: Page, tally: Tally, victim: Resident) -> None:
    none = {name: str(uuid.uuid4()) if name == "request_id" else NUMBER_OF_NONE for name in victim.ids}
    paths = [address(page, ids) for ids in (victim.ids, none)]
    replies = []
    for path in paths:
        wire.get("/")
        if page.method == "GET":
            replies.append(wire.get(path))
        else:
            form_id = {"form_id": seals.form_id(wire.session, path)}
            replies.append(wire.post(path, FIELDS | form_id))
    theirs, nobodys = (_plain(reply, path) for reply, path in zip(replies, paths, strict=True))
    tally.judge(f"{page.method} {page.path} of another", theirs == nobodys, (theirs[:2], nobodys[:2]))


def _plain(reply: Reply, path: str) -> tuple[int, str, str]:
    """Without what is new each time, and without the address itself."""
    return reply.status, reply.header("location").replace(path, ""), CHANGING.sub("", reply.text).replace(path, "")


def _ask_for(wire: Wire, tally: Tally, victim: Resident) -> None:
    """By an id in the query."""
    ids = {"key": victim.ids["key_id"], "id": victim.ids["request_id"]}
    for path, names in ASKED_FOR.items():
        for name in names:
            text = wire.get(f"{path}?{name}={ids[name]}").text
            rows = text.count("<time datetime=") if path == "/usage" else len(text.splitlines()) - 1
            named = victim.person.name in text.replace("Hello, ", "")
            tally.judge(f"{path}?{name}= of another", rows == 0 and not named, rows)


def _assign_more(place: Place, wire: Wire, seals: Seals, tally: Tally, victim: Resident) -> None:
    """Fields that no form has: whose it is, what one may, what one has."""
    more = {
        "account_id": str(victim.person.account_id),
        "role": "operator",
        "group": "agent",
        "balance": "1000000",
        "used": "0",
        "verified_at": "2026-01-01",
    }
    wire.get("/keys/new")
    reply = wire.post("/keys/new", {"name": "more", "form_id": seals.form_id(wire.session, "/keys/new")} | more)
    owner = place.value("select account_id from api_key where name = 'more' order by id desc limit 1")
    tally.judge("a key for another", reply.status == 200 and owner != victim.person.account_id, reply.status)
    email = place.new_email()
    stranger = Wire(place.console.port, place.url, place.new_ip())
    stranger.get("/sign-up")
    stranger.post("/sign-up", {"email": email, "name": "Mallory"} | more)
    link = place.link_to(email, "/verify")
    stranger.get(link.removeprefix(place.url))
    stranger.post("/verify", {"token": link.rpartition("token=")[2], "new_password": victim.person.password} | more)
    got = place.rows(
        "select role, (select count(*) from lot where lot.account_id = login.account_id) as lots"
        " from login where email = $1",
        email,
    )
    tally.judge("a role from a form", [tuple(row) for row in got] == [("customer", 0)], got)
