"""The mails that people get: short, plain, and the same to everybody.

Rules of this file
1. Nothing that a stranger could choose stands in a mail: whoever signs another's e-mail up cannot make us say things.
2. Each says what to do where one did not ask for it, or why it was sent.
3. The token stands behind `#`: browsers keep that to themselves, so it is in no server's log.
4. An integer among the figures of a mail is an amount of quota, and is told in USD.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tollkeeper.core.money import Quota, mills_remaining, usd_text

NOT_ASKED = "If it was not you, ignore this mail: nothing happens without you."


class MailKind(StrEnum):
    VERIFY = "verify"
    ALREADY_HERE = "already_here"
    RESET = "reset"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 (a kind of mail)
    SECOND_FACTOR_ON = "second_factor_on"
    SECOND_FACTOR_OFF = "second_factor_off"
    PRICE_CHANGE = "price_change"
    PRICE_WITHDRAWN = "price_withdrawn"
    LOT_EXPIRING = "lot_expiring"
    LOW_BALANCE = "low_balance"


class Mail(msgspec.Struct, frozen=True):
    subject: str
    text: str


class _Words(msgspec.Struct, frozen=True):
    subject: str
    text: str
    # Where the console takes the token; empty for a mail without one.
    path: str = ""


WORDS: Mapping[MailKind, _Words] = {
    MailKind.VERIFY: _Words(
        "Confirm your e-mail",
        "Somebody, most likely you, asked for an account with this e-mail.\n"
        f"To open it and choose its password, use this within 24 hours:\n\n{{way}}\n\n{NOT_ASKED}",
        "/verify",
    ),
    MailKind.ALREADY_HERE: _Words(
        "You have an account already",
        "Somebody, most likely you, asked for an account with this e-mail. There is one already: sign in, or ask for\n"
        f"a new password where you sign in.\n\n{NOT_ASKED}",
    ),
    MailKind.RESET: _Words(
        "Choose a new password",
        "Somebody, most likely you, asked for a new password.\n"
        f"To choose it, use this within one hour:\n\n{{way}}\n\n{NOT_ASKED}",
        "/reset",
    ),
    MailKind.PASSWORD_CHANGED: _Words(
        "Your password was changed",
        "The password of your account was changed, and its other sessions were ended.\n\n"
        "If it was not you, ask for a new password at once where you sign in, and write to support.",
    ),
    MailKind.SECOND_FACTOR_ON: _Words(
        "Your second factor was turned on",
        "Signing in to your account now takes a code of an app. For 72 hours nothing can be withdrawn.\n\n"
        "If it was not you, write to support at once: somebody has your password.",
    ),
    MailKind.SECOND_FACTOR_OFF: _Words(
        "Your second factor was turned off",
        "Your account can now be signed in to with its password alone, and its other sessions were ended.\n\n"
        "If it was not you, change your password at once, and write to support.",
    ),
    MailKind.PRICE_CHANGE: _Words(
        "The price of {model} changes",
        "{model} has another price from {from} UTC on. Its multipliers, until then and from then on:\n\n"
        "    model       {old_model} -> {new_model}\n"
        "    completion  {old_completion} -> {new_completion}\n"
        "    cached      {old_cached} -> {new_cached}\n\n"
        "Calls that begin before that instant are charged at the old price. Every price, present, past and announced,\n"
        "stands at /prices of the address that you call.\n\n"
        "You get this mail because you used the model in the last 30 days.",
    ),
    MailKind.PRICE_WITHDRAWN: _Words(
        "The price of {model} does not change",
        "The change of the price of {model} that we announced for {from} UTC was withdrawn.\n"
        "It will not take effect; the price stays as it is.\n\n"
        "You get this mail because we had written to you of the change.",
    ),
    MailKind.LOT_EXPIRING: _Words(
        "Some of your quota expires",
        "{amount} USD of your quota expire at {at} UTC and cannot be used any more from then on.\n"
        "What expires first is spent first: there is nothing to do but to use it.\n\n"
        "You get this mail 30, 7 and 1 days before quota expires.",
    ),
    MailKind.LOW_BALANCE: _Words(
        "Little is left of your quota",
        "{amount} USD are left of your quota. When it is used up, calls are refused. To go on, top up.\n\n"
        "You get this mail once, when less than {threshold} USD are left, and again only after you have topped up.",
    ),
}


def compose(
    kind: MailKind, *, token: str | None, console_url: str, figures: Mapping[str, str | int] | None = None
) -> Mail:
    """The mail of that kind. Without a console's URL its token stands there by itself."""
    words = WORDS[kind]
    told = {
        name: usd_text(mills_remaining(Quota(figure))) if isinstance(figure, int) else figure
        for name, figure in (figures or {}).items()
    }
    told["way"] = f"{console_url.rstrip('/')}{words.path}#token={token}" if console_url else f"Code: {token}"
    return Mail(words.subject.format(**told), words.text.format(**told) + "\n")
