"""An app that shows codes, as people set it up."""

from datetime import UTC, datetime

import pyotp

from proofs.rig.console.place import Person
from proofs.rig.console.visitor import Visitor

RECOVERY_CODES = 10


def next_code(secret: str) -> str:
    """What the app shows next: the one of this moment may be spent."""
    return pyotp.TOTP(secret).at(datetime.now(UTC), counter_offset=1)


def set_up_an_app(visitor: Visitor, person: Person) -> tuple[str, list[str]]:
    """The app's secret, and the recovery codes."""
    visitor.go("/security/second-factor")
    visitor.send("/security/second-factor", password=person.password)
    assert visitor.page.locator("svg.qr").count() == 1
    secret = visitor.one("main p code").replace(" ", "")
    visitor.send("/security/second-factor/confirm", code=pyotp.TOTP(secret).now())
    codes = visitor.page.locator("ul.recovery li").all_inner_texts()
    assert len(codes) == RECOVERY_CODES, codes
    return secret, codes
