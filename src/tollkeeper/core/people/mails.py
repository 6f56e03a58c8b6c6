"""The mails that people get: short, plain, and the same to everybody.

Rules of this file
1. Nothing that a stranger could choose stands in a mail: whoever signs another's e-mail up cannot make us say things.
2. Each says what to do where one did not ask for it, or why it was sent.
3. The token stands in the query, for browsers without a script. The console writes no log of addresses, sends
   `no-referrer` with the page, and takes the token by POST alone.
4. An integer among the figures of a mail is an amount of quota, and is told in USD.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tollkeeper.core.money.amounts import Quota, mills_remaining, usd_text
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.price_words import part_figures

_decode_parts = msgspec.json.Decoder(PriceParts).decode
NOT_SET = "not set"
IN_USD = "What it costs you in USD, until then and from then on:"
NOT_ASKED = "If it was not you, ignore this mail: nothing happens without you."


class MailKind(StrEnum):
    VERIFY = "verify"
    ALREADY_HERE = "already_here"
    RESET = "reset"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 (a kind of mail)
    SECOND_FACTOR_ON = "second_factor_on"
    SECOND_FACTOR_OFF = "second_factor_off"
    RESET_ASKED = "reset_asked"
    PASSKEY_ADDED = "passkey_added"
    PASSKEY_REMOVED = "passkey_removed"
    EMAIL_CHANGE = "email_change"
    EMAIL_TAKEN = "email_taken"
    EMAIL_CHANGE_ASKED = "email_change_asked"
    EMAIL_CHANGED = "email_changed"
    ACCOUNT_CLOSED = "account_closed"
    PRICE_CHANGE = "price_change"
    PRICE_WITHDRAWN = "price_withdrawn"
    LOT_EXPIRING = "lot_expiring"
    LOW_BALANCE = "low_balance"
    DAY_SPEND = "day_spend"
    NEW_SIGN_IN = "new_sign_in"
    DISPUTE_CREDITED = "dispute_credited"
    DISPUTE_DECLINED = "dispute_declined"


class Mail(msgspec.Struct, frozen=True):
    subject: str
    text: str


class _MailWords(msgspec.Struct, frozen=True):
    subject: str
    text: str
    # Where the console takes the token; empty for a mail without one.
    path: str = ""


WORDS: Mapping[MailKind, _MailWords] = {
    MailKind.VERIFY: _MailWords(
        "Confirm your e-mail",
        "Somebody, most likely you, asked for an account with this e-mail.\n"
        f"To open it and choose its password, use this within 24 hours:\n\n{{way}}\n\n{NOT_ASKED}",
        "/verify",
    ),
    MailKind.ALREADY_HERE: _MailWords(
        "You have an account already",
        "Somebody, most likely you, asked for an account with this e-mail. There is one already: sign in, or ask for\n"
        f"a new password where you sign in.\n\n{NOT_ASKED}",
    ),
    MailKind.RESET: _MailWords(
        "Choose a new password",
        "Somebody, most likely you, asked for a new password.\n"
        f"To choose it, use this within one hour:\n\n{{way}}\n\n{NOT_ASKED}",
        "/reset",
    ),
    MailKind.PASSWORD_CHANGED: _MailWords(
        "Your password was changed",
        "The password of your account was changed, and its other sessions were ended.\n\n"
        "If it was not you, ask for a new password at once where you sign in, and write to support.",
    ),
    MailKind.SECOND_FACTOR_ON: _MailWords(
        "Your second factor was turned on",
        "Signing in to your account now takes a code of an app. For 72 hours nothing can be withdrawn.\n\n"
        "If it was not you, write to support at once: somebody has your password.",
    ),
    MailKind.SECOND_FACTOR_OFF: _MailWords(
        "Your second factor was turned off",
        "Your account can now be signed in to with its password alone, and its other sessions were ended.\n\n"
        "If it was not you, change your password at once, and write to support.",
    ),
    MailKind.RESET_ASKED: _MailWords(
        "Somebody asked us to drop your second factor or passkeys",
        "Somebody, most likely you, told our support that they cannot sign in to your account, and asked that its\n"
        "second factor or its passkeys be dropped. Nothing has changed yet: another of our staff looks at it.\n\n"
        "If it was not you, write to support at once: somebody may be after your account.",
    ),
    MailKind.PASSKEY_ADDED: _MailWords(
        "A passkey was added",
        "Your account can now be signed in to with one more passkey, without its password and without a code.\n\n"
        "If it was not you, somebody has your password: sign in, remove the passkey on the page Security, change your\n"
        "password, and write to support.",
    ),
    MailKind.PASSKEY_REMOVED: _MailWords(
        "A passkey was removed",
        "Your account can no longer be signed in to with that passkey, and its other sessions were ended.\n\n"
        "If it was not you, change your password at once, and write to support.",
    ),
    MailKind.EMAIL_CHANGE: _MailWords(
        "Confirm your new e-mail",
        "Somebody, most likely you, asked to have this e-mail for an account here instead of another.\n"
        f"To confirm it, use this within 24 hours:\n\n{{way}}\n\n{NOT_ASKED}",
        "/security/email/confirm",
    ),
    MailKind.EMAIL_TAKEN: _MailWords(
        "This e-mail has an account already",
        "Somebody, most likely you, asked to have this e-mail for another account here. It cannot be: your account\n"
        "has it. To use it there, give this account another e-mail first.\n\n"
        "If it was not you, ignore this mail: nothing was changed, and nobody was told that you have an account.",
    ),
    MailKind.EMAIL_CHANGE_ASKED: _MailWords(
        "Your account is to have another e-mail",
        "Somebody who knows your password, most likely you, asked for another e-mail for your account. Nothing has\n"
        "changed yet: that happens when the link in the mail that was sent there is used.\n\n"
        "If it was not you, change your password at once: that ends the link. Then write to support.",
    ),
    MailKind.EMAIL_CHANGED: _MailWords(
        "Your account has another e-mail",
        "Your account is no longer signed in to with this e-mail, and mails of it go to the new one. Its other\n"
        "sessions were ended.\n\n"
        "If it was not you, write to support at once, from this e-mail.",
    ),
    MailKind.ACCOUNT_CLOSED: _MailWords(
        "Your account was closed",
        "Your account was closed as you asked: its keys are revoked, and nobody can sign in. Quota that was left\n"
        "stays on it and expires as it would have. After 30 days we remove your e-mail, your name and your sign-ins;\n"
        "the records of payments and calls stay.\n\n"
        "To have it opened again, or to ask for money back, write to support within 30 days.\n\n"
        "If it was not you, write to support at once: for 30 days nothing is lost.",
    ),
    MailKind.PRICE_CHANGE: _MailWords(
        "The price of {model} changes",
        "{model} has another price from {from} UTC on.\n\n"
        "{in_usd}"
        "Its multipliers in the price book, until then and from then on:\n\n"
        "    model       {old_model} -> {new_model}\n"
        "    completion  {old_completion} -> {new_completion}\n"
        "    cached      {old_cached} -> {new_cached}\n"
        "{others}\n"
        "Calls that begin before that instant are charged at the old price. Every price, present, past and announced,\n"
        "stands at /prices of the address that you call.\n\n"
        "You get this mail because you used the model in the last 30 days.",
    ),
    MailKind.PRICE_WITHDRAWN: _MailWords(
        "The price of {model} does not change",
        "The change of the price of {model} that we announced for {from} UTC was withdrawn.\n"
        "It will not take effect; the price stays as it is.\n\n"
        "You get this mail because we had written to you of the change.",
    ),
    MailKind.LOT_EXPIRING: _MailWords(
        "Some of your quota expires",
        "{amount} USD of your quota expire at {at} UTC and cannot be used any more from then on.\n"
        "What expires first is spent first: there is nothing to do but to use it.\n\n"
        "You get this mail 30, 7 and 1 days before quota expires.",
    ),
    MailKind.LOW_BALANCE: _MailWords(
        "Little is left of your quota",
        "{amount} USD are left of your quota. When it is used up, calls are refused. To go on, top up.\n\n"
        "You get this mail once, when less than {threshold} USD are left, and again only after you have topped up.",
    ),
    MailKind.DAY_SPEND: _MailWords(
        "Much was spent in a day",
        "{amount} USD were spent by your calls on {day} (UTC) so far. Nothing was stopped: for that, give your keys\n"
        "budgets.\n\n"
        "You get this mail because you asked for it from {threshold} USD a day on, once a day.",
    ),
    MailKind.NEW_SIGN_IN: _MailWords(
        "A sign-in from somewhere new",
        "Your account was signed in to at {at} UTC, from a browser or a network that we had not seen with it in the\n"
        "last weeks. The IP address was {ip}.\n\n"
        "If it was not you, choose a new password at once where you sign in: that ends every session. Then remove\n"
        "every passkey that is not yours on the page Security: a new password does not end those.\n\n"
        "You get this mail unless you choose otherwise among the notices of your console.",
    ),
    MailKind.DISPUTE_CREDITED: _MailWords(
        "A charge was credited to you",
        "You told us that the charge of this call is wrong:\n\n    {call}\n\n"
        "It was credited to your account. How much, its receipt says, on the page Usage of your console.\n\n"
        "You get this mail because you disputed the charge.",
    ),
    MailKind.DISPUTE_DECLINED: _MailWords(
        "Your dispute was looked at",
        "You told us that the charge of this call is wrong:\n\n    {call}\n\n"
        "We looked at it, and the charge stays. Why, its receipt says, on the page Usage of your console.\n\n"
        "You get this mail because you disputed the charge.",
    ),
}


def has_link(kind: MailKind) -> bool:
    """Whether the mail is of no use without the console's URL."""
    return bool(WORDS[kind].path)


def compose(
    kind: MailKind, *, token: str | None, console_url: str, figures: Mapping[str, str | int] | None = None
) -> Mail:
    """The mail of that kind. One with a link takes the console's URL: a token that no page takes helps nobody."""
    if has_link(kind) and not console_url:
        raise ValueError(f"A mail of the kind {kind} has a link to the console, and its URL is not known.")
    words = WORDS[kind]
    told = {
        name: usd_text(mills_remaining(Quota(figure))) if isinstance(figure, int) else figure
        for name, figure in (figures or {}).items()
    }
    told["in_usd"] = f"{IN_USD}\n\n{usd}\n" if (usd := told.get("usd", "")) else ""
    told["others"] = _parts_told(told.get("old_parts", ""), told.get("new_parts", ""))
    told["way"] = f"{console_url.rstrip('/')}{words.path}?token={token}"
    return Mail(words.subject.format(**told), words.text.format(**told) + "\n")


def signed(mail: Mail, *, name: str, support: str) -> Mail:
    """With the service's name and where its support is below it, where the operator has said them."""
    lines = [line for line in (name, support) if line]
    return msgspec.structs.replace(mail, text=mail.text + "\n-- \n" + "\n".join(lines) + "\n") if lines else mail


def _parts_told(old: str, new: str) -> str:
    """A line for each part that is set before a change of a price, or after it. Both come as JSON, as the book has it;
    empty where there are none, and in mails that an earlier version wrote."""
    before, after = (part_figures(_decode_parts(text) if text else None) for text in (old, new))
    names = dict.fromkeys((*before, *after))
    return "".join(f"    {name}: {before.get(name, NOT_SET)} -> {after.get(name, NOT_SET)}\n" for name in names)
