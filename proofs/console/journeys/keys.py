"""Journeys with keys: what a page changes is what the next real call meets."""

from playwright.sync_api import Browser

from proofs.rig.console.calling import called, refused_with
from proofs.rig.console.place import Person, Place
from proofs.rig.console.visitor import Visitor
from proofs.rig.patience import came_true

SOON_SECONDS = 5.0


def new_key(visitor: Visitor, name: str, **limits: str) -> tuple[int, str]:
    """Its number, and its text, which is shown this once."""
    visitor.go("/keys/new")
    assert visitor.send("/keys/new", name=name, **limits) == 200
    text = visitor.one(".copied-from")
    account = "select id from api_key where name = $1 order by id desc limit 1"
    return visitor.place.value(account, name), text


def becomes(place: Place, key: str, status: int, model: str = "gpt-4o") -> bool:
    """Whether calls with a key get this status soon; 200 is an answer."""
    return came_true(lambda: refused_with(place, key, model) == status, within_seconds=SOON_SECONDS)


def edited_rotated_and_revoked(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip)
    visitor.sign_in(person)
    key_id, text = new_key(visitor, "worker", quota="5")
    called(place, text)
    visitor.go("/keys")
    assert text not in visitor.page.content(), "a key is shown twice"
    assert visitor.says("of $5.00")

    visitor.go(f"/keys/{key_id}")
    visitor.send(f"/keys/{key_id}", name="worker two", which_models="some", model="gpt-4o-mini")
    assert visitor.says("The key is changed.")
    assert visitor.says("worker two")
    assert becomes(place, text, 404), "a model that is not on the list"
    called(place, text, model="gpt-4o-mini")
    visitor.go(f"/keys/{key_id}")
    visitor.send(f"/keys/{key_id}", which_models="every")
    assert becomes(place, text, 200)

    pause_and_resume(visitor, key_id, text)
    visitor.go(f"/keys/{key_id}/rotate")
    assert visitor.send(f"/keys/{key_id}/rotate", keep_hours="1") == 200
    newer = visitor.one(".copied-from")
    assert becomes(place, newer, 200)
    assert becomes(place, text, 200), "the old text works for a while"
    visitor.go(f"/keys/{key_id}/rotate")
    visitor.send(f"/keys/{key_id}/rotate", keep_hours="0")
    newest = visitor.one(".copied-from")
    assert becomes(place, newest, 200)
    assert becomes(place, newer, 401)
    assert becomes(place, text, 401)

    visitor.go(f"/keys/{key_id}/revoke")
    visitor.send(f"/keys/{key_id}/revoke")
    assert visitor.says("The key is revoked.")
    assert becomes(place, newest, 401)
    assert visitor.go(f"/keys/{key_id}") == 404
    assert visitor.complaints == []
    visitor.close()


def pause_and_resume(visitor: Visitor, key_id: int, text: str) -> None:
    """A key that is paused is refused, and goes on afterwards as it was."""
    place = visitor.place
    visitor.go("/keys")
    visitor.send(f"/keys/{key_id}/pause")
    assert becomes(place, text, 401)
    visitor.go("/keys")
    visitor.send(f"/keys/{key_id}/resume")
    assert becomes(place, text, 200)


def without_script(browser: Browser, place: Place) -> None:
    """Keys and top-ups with script turned off."""
    person = place.a_person(usd=0)
    [code] = place.codes(1, 5)
    visitor = Visitor(browser, place, person.ip, java_script_enabled=False)
    visitor.sign_in(person)
    visitor.go("/top-up")
    assert visitor.send("/top-up", code="TK-0000-0000-0000-0000-0000-0000-0000") == 422
    assert visitor.page.locator("#code-error").is_visible()
    visitor.send("/top-up", code=code)
    assert visitor.says("$5.00")
    # Going back and sending it once more takes nothing and says so.
    visitor.go("/top-up")
    visitor.send("/top-up", code=code)
    assert visitor.says("You redeemed this code before.")
    assert balance_of(place, person) == 5

    visitor.go("/keys/new")
    assert visitor.send("/keys/new", name="plain", quota="lots") == 422
    assert visitor.page.locator("#quota-error").is_visible()
    assert visitor.send("/keys/new", quota="2") == 200
    text = visitor.one(".copied-from")
    called(place, text)
    key_id = place.value("select id from api_key where account_id = $1", person.account_id)
    visitor.go(f"/keys/{key_id}/revoke")
    visitor.send(f"/keys/{key_id}/revoke")
    assert becomes(place, text, 401)
    visitor.close()


def balance_of(place: Place, person: Person) -> int:
    """In whole USD."""
    units: int = place.value("select coalesce(sum(remaining), 0) from lot where account_id = $1", person.account_id)
    return units // 500_000_000_000
