"""axe-core on every page of the table, on those that forms lead to, and on those of the gateway itself."""

from pathlib import Path

from playwright.sync_api import Browser

from proofs.console.behind_forms import behind_forms
from proofs.rig.console.axe import QUICKLY, Looked, look, look_here
from proofs.rig.console.place import BILLING_HOST, Place
from proofs.rig.console.residents import Resident, address, shown_pages
from proofs.rig.console.visitor import Visitor
from tollkeeper.console.pages import Who

# Beyond the table: what is shown where something is wrong.
WRONG = ("/no-such-page", "/usage?from=nonsense", "/statements?month=nonsense")
# Of the gateway itself, by host: what it shows to everybody.
OUTSIDE = {"127.0.0.1": ("/", "/prices"), BILLING_HOST: ("/", "/balance")}


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
        look(visitor, place.url + path, looked, pictures)
    for visitor, name in behind_forms(browser, place):
        looked.pages += 1
        look_here(visitor, f"{visitor.page.url.partition('?')[0]} ({name})", looked, pictures, QUICKLY)
        assert visitor.complaints == [], visitor.complaints
    for host, paths in OUTSIDE.items():
        for path in paths:
            looked.pages += 1
            look(stranger, f"http://{host}:{place.node.port}{path}", looked, pictures)
    assert stranger.complaints + owner.complaints == [], stranger.complaints + owner.complaints
    stranger.close()
    owner.close()
    return looked
