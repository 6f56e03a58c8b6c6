"""Passkeys: added with the password, removed with it, and signed in with.

Rules of this file
1. A passkey counts as both factors. So adding one takes both: the password and, where there is a second factor, a code.
2. A challenge is good for one answer, right or wrong.
3. Nobody names an e-mail to sign in with a passkey. Whatever is wrong is answered alike, and nothing is counted against
   an account.
"""

from collections.abc import Sequence

import msgspec

from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.accounts.people.passwords import require_password
from tollkeeper.accounts.people.sessions import owner
from tollkeeper.accounts.people.sign_in import SignedIn, open_session, pass_second_factor
from tollkeeper.core.people.lockout import Subject
from tollkeeper.core.people.logins import (
    AccountClosed,
    LoginDisabled,
    SecondFactorNeeded,
    SessionRecord,
    mint_token,
)
from tollkeeper.core.people.passkeys import (
    PASSKEY_NAME_MOST,
    PASSKEYS_MOST,
    BadPasskeyName,
    PasskeyNotAdded,
    PasskeyRecord,
    PasskeyRefused,
    PasskeysFull,
    RelyingParty,
)
from tollkeeper.core.people.webauthn_answers import (
    creation_options,
    credential_of,
    made_passkey,
    next_sign_count,
    request_options,
)
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.passkeys import NewPasskey
from tollkeeper.ports.people import PasskeyUse


class PasskeyWish(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    password: str
    # Of the second factor, where there is one.
    code: str = ""


class PasskeyProposal(msgspec.Struct, frozen=True):
    """What is to come back with the device's answer, unread by anybody."""

    challenge: str
    user_handle: str
    name: str


class PasskeyQuestion(msgspec.Struct, frozen=True):
    """What a device is asked to sign, and that as a browser takes it (JSON)."""

    challenge: str
    options: str


async def passkeys_of(desk: FrontDesk, account_id: int) -> Sequence[PasskeyRecord]:
    """The oldest first."""
    return await desk.passkeys.of(account_id)


async def passkey_of(desk: FrontDesk, account_id: int, passkey_id: int) -> PasskeyRecord:
    """Raise NotOnFile, also for another's."""
    for passkey in await desk.passkeys.of(account_id):
        if passkey.passkey_id == passkey_id:
            return passkey
    raise NotOnFile("This account has no such passkey.")


async def propose_passkey(
    desk: FrontDesk, session: SessionRecord, wish: PasskeyWish, party: RelyingParty
) -> tuple[PasskeyProposal, str]:
    """What to ask a device for, and that as a browser takes it (JSON). Raise LoginRefusal."""
    name, account_id = _name(wish.name), session.account_id
    login = await desk.logins.of(account_id)
    await require_password(desk, login, wish.password)
    if login.second_factor:
        if not wish.code:
            raise SecondFactorNeeded
        await pass_second_factor(desk, account_id, wish.code)
    there = await desk.passkeys.of(account_id)
    if len(there) >= PASSKEYS_MOST:
        raise PasskeysFull
    handle = there[0].user_handle if there else mint_token(desk.choose).encode()
    proposal = PasskeyProposal(mint_token(desk.choose), handle.decode(), name)
    options = creation_options(party, challenge=proposal.challenge, user_handle=handle, email=login.email, there=there)
    return proposal, options


async def add_passkey(
    desk: FrontDesk, session: SessionRecord, proposal: PasskeyProposal, answer: str, party: RelyingParty
) -> None:
    """Keep what the device made. Raise PasskeyNotAdded."""
    if not await _is_first_answer(desk, proposal.challenge):
        raise PasskeyNotAdded
    passkey = NewPasskey(
        account_id=session.account_id,
        name=proposal.name,
        user_handle=proposal.user_handle.encode(),
        made=made_passkey(answer, party, challenge=proposal.challenge),
    )
    if not await desk.passkeys.add(passkey, actor=owner(session.account_id)):
        raise PasskeyNotAdded


async def remove_passkey(desk: FrontDesk, session: SessionRecord, passkey_id: int, password: str) -> None:
    """Every other session is over: whoever has the device may have one. Raise LoginRefusal, or NotOnFile."""
    account_id, here = session.account_id, session.session_id
    await require_password(desk, await desk.logins.of(account_id), password)
    if not await desk.passkeys.remove(account_id, passkey_id, keep_session_id=here, actor=owner(account_id)):
        raise NotOnFile("This account has no such passkey.")


def ask_for_passkey(desk: FrontDesk, party: RelyingParty) -> PasskeyQuestion:
    """For whoever wants to sign in. Nothing is kept of it."""
    challenge = mint_token(desk.choose)
    return PasskeyQuestion(challenge, request_options(party, challenge=challenge))


async def sign_in_with_passkey(
    desk: FrontDesk, challenge: str, answer: str, party: RelyingParty, visitor: RequestOrigin
) -> SignedIn:
    """`challenge` is the one that this visitor was given. Raise LoginRefusal."""
    from_there = [Subject("passkey_from_ip", visitor.network)] if visitor.network else []
    await desk.lockouts.begin(from_there)
    if not await _is_first_answer(desk, challenge):
        raise PasskeyRefused
    passkey = await desk.passkeys.find(credential_of(answer))
    if passkey is None:
        raise PasskeyRefused
    sign_count = next_sign_count(answer, party, passkey, challenge=challenge)
    await desk.lockouts.take_back(from_there)
    login = await desk.logins.of(passkey.account_id)
    if login.account_closed:
        raise AccountClosed
    if login.account_disabled:
        raise LoginDisabled
    use = PasskeyUse(passkey.passkey_id, sign_count)
    signed_in = await open_session(desk, login, visitor, passkey=use)
    if signed_in is None:
        raise PasskeyRefused
    return signed_in


async def _is_first_answer(desk: FrontDesk, challenge: str) -> bool:
    return await desk.sent_forms.is_first(f"passkey {challenge}")


def _name(text: str) -> str:
    name = text.strip()
    if not 1 <= len(name) <= PASSKEY_NAME_MOST or not name.isprintable():
        raise BadPasskeyName
    return name
