"""A journey with a passkey: the device is the browser's own virtual one."""

from playwright.sync_api import Browser

from proofs.rig.console.place import NOT_THE_PASSWORD, Place
from proofs.rig.console.visitor import Visitor

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def a_passkey(browser: Browser, place: Place) -> None:
    person = place.a_person()
    visitor = Visitor(browser, place, person.ip)
    visitor.sign_in(person)
    devices = visitor.context.new_cdp_session(visitor.page)
    devices.send("WebAuthn.enable")
    device = devices.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})["authenticatorId"]

    visitor.go("/security/passkeys/new")
    assert visitor.send("/security/passkeys/new", name="laptop", password=NOT_THE_PASSWORD) == 422
    visitor.send("/security/passkeys/new", name="laptop", password=person.password)
    visitor.page.locator("form[data-passkey=make] button").click()
    visitor.page.wait_for_url("**/security?**")
    assert visitor.says("laptop")
    assert visitor.says("never used")
    assert len(devices.send("WebAuthn.getCredentials", {"authenticatorId": device})["credentials"]) == 1

    sign_in_with_it(visitor)
    visitor.go("/security")
    assert visitor.says("laptop")
    assert not visitor.says("never used")
    visitor.page.locator("a[href$='/remove']").click()
    visitor.page.wait_for_url("**/remove")
    visitor.send(visitor.path, password=person.password)
    assert visitor.path == "/security"
    assert not visitor.says("laptop")
    # The device has it still, and it opens nothing.
    visitor.send("/sign-out")
    if visitor.path == "/sign-in" and visitor.page.locator("form[data-passkey=sign] button").is_enabled():
        visitor.page.locator("form[data-passkey=sign] button").click()
    visitor.page.wait_for_selector("[role=alert]:visible")
    visitor.go("/keys")
    assert visitor.path == "/sign-in"
    visitor.close()


def sign_in_with_it(visitor: Visitor) -> None:
    """Without password and code. A browser may offer it by itself, before anybody presses the button."""
    visitor.send("/sign-out")
    button = visitor.page.locator("form[data-passkey=sign] button")
    if visitor.path == "/sign-in" and button.is_visible():
        button.click()
    visitor.page.wait_for_url(f"{visitor.place.url}/")
