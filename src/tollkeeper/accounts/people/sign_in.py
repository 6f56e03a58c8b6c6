"""Sign-in: e-mail, password and, where there is one, a second factor become a session.

Rules of this file
1. An unknown e-mail is answered as a wrong password is, in the same words and after the same work.
2. The attempt is counted before it is judged.
3. Every sign-in has a token of its own, made here; none is ever taken over from before.
"""

from contextlib import suppress

import msgspec

from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.core.people.emails import NotAnEmail, canonical
from tollkeeper.core.people.lockout import Subject
from tollkeeper.core.people.logins import (
    LIFETIMES,
    AccountClosed,
    LoginDisabled,
    SecondFactorNeeded,
    TooBusy,
    WrongCode,
    WrongCredentials,
    mint_token,
    readable_agent,
    token_digest,
)
from tollkeeper.core.people.passwords import for_checking
from tollkeeper.ports.people import LoginRecord, NewSession, PasskeyUse


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    email: str
    password: str
    # Of the app, or a recovery code; empty where there is none yet.
    code: str = ""


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """The token is here and nowhere else."""

    account_id: int
    session_id: int
    token: str


async def sign_in(desk: FrontDesk, given: Credentials, visitor: RequestOrigin) -> SignedIn:
    """Raise LoginRefusal."""
    try:
        email = canonical(given.email)
    except NotAnEmail:
        raise WrongCredentials from None
    own, shared = _subjects(email, visitor)
    await desk.lockouts.begin([*own, *shared])
    try:
        login = await _with_password(desk, email, given.password)
    except TooBusy:
        await desk.lockouts.take_back([*own, *shared])
        raise
    if login.second_factor and not given.code:
        # So far nothing was wrong; but only the code may make up for what went wrong before.
        await desk.lockouts.take_back([*own, *shared])
        raise SecondFactorNeeded
    if login.second_factor:
        await pass_second_factor(desk, login.account_id, given.code)
    await desk.lockouts.forget(own)
    await desk.lockouts.take_back(shared)
    if login.account_closed:
        raise AccountClosed
    if login.account_disabled:
        raise LoginDisabled
    signed_in = await open_session(desk, login, visitor)
    if signed_in is None:
        raise WrongCredentials
    return signed_in


async def pass_second_factor(desk: FrontDesk, account_id: int, code: str) -> None:
    """Use up one code. Raise WrongCode, and TooManyAttempts after a few."""
    subject = [Subject.of_account("second_factor", account_id)]
    await desk.lockouts.begin(subject)
    if not await desk.second_factors.use(account_id, code):
        raise WrongCode
    await desk.lockouts.forget(subject)


async def _with_password(desk: FrontDesk, email: str, password: str) -> LoginRecord:
    login = await desk.logins.find(email)
    plain = for_checking(password)
    right = await desk.hashes.matches(login.password_hash if login else None, plain)
    if login is None or not right:
        raise WrongCredentials
    if desk.hashes.is_dated(login.password_hash):
        # The password is right: where hashing is too busy now, the hash is renewed at another sign-in.
        with suppress(TooBusy):
            await desk.logins.rehash(login.account_id, login.password_hash, await desk.hashes.hash(plain))
    return login


async def open_session(
    desk: FrontDesk, login: LoginRecord, visitor: RequestOrigin, *, passkey: PasskeyUse | None = None
) -> SignedIn | None:
    """None where the login is no longer as it was when it was checked."""
    token = mint_token(desk.choose)
    session = NewSession(
        login=login,
        digest=token_digest(token),
        lasts=LIFETIMES[login.role].longest,
        ip=visitor.ip,
        agent=readable_agent(visitor.agent),
        passkey=passkey,
    )
    session_id = await desk.sessions.open(session)
    if session_id is None:
        return None
    return SignedIn(account_id=login.account_id, session_id=session_id, token=token)


def _subjects(email: str, visitor: RequestOrigin) -> tuple[list[Subject], list[Subject]]:
    """What a success clears, and what others have a part in."""
    network = visitor.network
    shared = [Subject.of_email("sign_in_of_email", email)]
    if network:
        shared.append(Subject("sign_in_from_ip", network))
    return [Subject.of_email("sign_in_of_email_from_ip", email, network)], shared
