"""People who have one of everything: a key, a top-up, a call; and the address of every page of theirs."""

import re
from collections.abc import Mapping

import msgspec

from proofs.rig.console.calling import called
from proofs.rig.console.place import Person, Place
from proofs.rig.console.wire import Wire
from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.console.pages import Page
from tollkeeper.console.table import PAGES
from tollkeeper.office.desks import Office

ACTOR = "proof"
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
# What a resident has, by the names of parameters in paths.
OWN = ("key_id", "top_up_id", "request_id", "session_id", "gift_code", "passkey_id")
# What everybody may know.
PUBLIC = {"model_id": "gpt-4o"}
# As if a device had made it.
A_PASSKEY = """
insert into passkey (account_id, name, credential_id, public_key, user_handle, sign_count, transports)
values ($1, $2, sha256($2::text::bytea || gen_random_uuid()::text::bytea), 'none', 'none', 0, '{}') returning id
"""
# What a program reads.
NOT_PAGES = ("/chat/calls/{request_id}",)


class Resident(msgspec.Struct, frozen=True):
    person: Person
    # By the names of parameters in paths: what is theirs.
    ids: Mapping[str, str]
    key: str


def a_resident(place: Place, name: str = "Ada") -> Resident:
    person = place.a_person(name=name)
    [code] = place.codes(1, 5)

    async def furnish(desk: Office) -> tuple[int, str, int]:
        wish = KeyWish(account_id=person.account_id, name=f"key of {name}", quota=None)
        issued = await create_key(wish, desk.key_maker, desk.keys, actor=ACTOR)
        given = RedeemWish(account_id=person.account_id, code=code, gift_code=None, ip=None)
        redeemed = await redeem(given, desk.referral_terms, desk.redemptions, actor=ACTOR)
        return issued.key_id, issued.key, redeemed.top_up.id

    key_id, key, top_up_id = place.operate(furnish)
    call = called(place, key)
    Wire(place.console.port, place.url, person.ip).sign_in(person)
    passkey = place.value(A_PASSKEY, person.account_id, f"phone of {name}")
    ids = {
        "passkey_id": str(passkey),
        "key_id": str(key_id),
        "top_up_id": str(top_up_id),
        "request_id": call.request_id,
        "session_id": str(place.value("select max(id) from session where account_id = $1", person.account_id)),
        "gift_code": place.value("select gift_code from account where id = $1", person.account_id),
    }
    return Resident(person, ids | PUBLIC, key)


def parameters(page: Page) -> list[str]:
    return PARAMETER.findall(page.path)


def address(page: Page, ids: Mapping[str, str]) -> str:
    """Of a page, for somebody. A parameter that is not known here has to be added to `a_resident`."""
    return PARAMETER.sub(lambda found: ids[found[1]], page.path)


def shown_pages() -> list[Page]:
    """Those that a browser shows."""
    return [
        page for page in PAGES if page.method == "GET" and not page.path.endswith(".csv") and page.path not in NOT_PAGES
    ]
