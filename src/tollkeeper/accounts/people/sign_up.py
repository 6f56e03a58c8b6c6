"""Sign-up: a request, a mail, and an account once the mail's reader has chosen a password.

Rules of this file
1. Whether an e-mail has an account already is said to nobody but its owner: the request does the same in both cases,
   and the mail differs.
2. Anybody may ask with anybody's e-mail. So the request brings no password, and the link alone changes nothing: mail
   programs follow links by themselves.
"""

import msgspec

from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.accounts.people.staff import require_role
from tollkeeper.core.money.codes import read_gift_code
from tollkeeper.core.people.emails import canonical
from tollkeeper.core.people.lockout import Subject
from tollkeeper.core.people.logins import (
    AccountThere,
    Actor,
    BadInvite,
    BadName,
    LinkNotValid,
    Role,
    TooManyAttempts,
    token_digest,
)
from tollkeeper.core.people.passwords import require_good, written
from tollkeeper.ports import AlreadyOnFile
from tollkeeper.ports.people import Opening, SignUpRequest

NAME_CHARACTERS_MOST = 120


class SignUpWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a stranger asks for."""

    email: str
    name: str = ""
    gift_code: str = ""


async def request_sign_up(desk: FrontDesk, wish: SignUpWish, visitor: RequestOrigin) -> None:
    """Have a link sent to the e-mail. Raise LoginRefusal where the wish itself cannot be granted."""
    request = _request(wish)
    if await may_write_to(desk, request.email, "sign-up", visitor):
        await desk.sign_ups.request(request)


async def look_at_sign_up(desk: FrontDesk, token: str) -> SignUpRequest:
    """What was asked for, for its owner to confirm; nothing changes. Raise LinkNotValid, or AccountThere."""
    filed = await desk.sign_ups.look(token_digest(token))
    if filed is None:
        raise LinkNotValid
    if filed.account_there:
        raise AccountThere
    return filed.request


async def verify_sign_up(desk: FrontDesk, token: str, password: str, *, gift_code: str | None = None) -> int:
    """Open the account. `gift_code` stands for the request's: None keeps that one, an empty one drops it. Raise
    LoginRefusal."""
    request = await look_at_sign_up(desk, token)
    require_good(password, email=request.email)
    opening = Opening(
        token_digest=token_digest(token),
        gift_code=request.gift_code if gift_code is None else _gift_code(gift_code),
        password_hash=await desk.hashes.hash(written(password)),
    )
    try:
        account_id = await desk.sign_ups.open(opening)
    except AlreadyOnFile:
        raise AccountThere from None
    if account_id is None:
        raise LinkNotValid
    return account_id


async def open_account(desk: FrontDesk, wish: SignUpWish, password: str, *, by: Actor) -> int:
    """An account for somebody whom an operator knows: no mail, no waiting. Raise RoleMissing, or AlreadyOnFile."""
    require_role(by, Role.OPERATOR)
    request = _request(wish)
    require_good(password, email=request.email)
    return await desk.sign_ups.open_at_once(request, await desk.hashes.hash(written(password)), actor=by.name)


async def may_write_to(desk: FrontDesk, email: str, purpose: str, visitor: RequestOrigin) -> bool:
    """Whether one more mail may go to this mailbox. Mails beyond a mailbox's limit are dropped, and the visitor sees no
    difference; beyond the limit of a network, raise TooManyAttempts. Counted by purpose, so that useless mails do
    not use up those that help."""
    if visitor.network:
        await desk.lockouts.begin([Subject("mail_from_ip", visitor.network)])
    try:
        await desk.lockouts.begin([Subject.of_email("mail_to", email, purpose)])
    except TooManyAttempts:
        return False
    return True


def _request(wish: SignUpWish) -> SignUpRequest:
    email = canonical(wish.email)
    return SignUpRequest(email=email, name=_name(wish.name, email), gift_code=_gift_code(wish.gift_code))


def _name(text: str, email: str) -> str:
    name = text.strip() or email[:NAME_CHARACTERS_MOST]
    if len(name) > NAME_CHARACTERS_MOST or not name.isprintable():
        raise BadName
    return name


def _gift_code(text: str) -> str | None:
    code = read_gift_code(text)
    if code == "":
        raise BadInvite
    return code
