"""Second factors (TOTP, recovery codes): set up, shown, turned off, and asked for where a password is not enough."""

import msgspec

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.accounts.people.passwords import require_password
from tollkeeper.accounts.people.sessions import owner
from tollkeeper.accounts.people.sign_in import pass_second_factor
from tollkeeper.core.people.lockout import Subject
from tollkeeper.core.people.logins import (
    SecondFactorMissing,
    SecondFactorNeeded,
    SecondFactorThere,
    SessionRecord,
    WrongCode,
    mint_token,
    token_digest,
)
from tollkeeper.core.people.totp import RECOVERY_CODES, link_for_app, mint_recovery_code, mint_secret, plain
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.people import Confirmation, LoginRecord


class Proposal(msgspec.Struct, frozen=True):
    """What goes into the app, by hand or as a QR code. It counts for nothing until it is confirmed."""

    secret: str
    link: str


class OwnerProof(msgspec.Struct, frozen=True):
    """What shows that a session's owner is there: the password once more, and a code where there is a second factor."""

    password: str
    code: str = ""


class Confirmed(msgspec.Struct, frozen=True):
    """Shown once: the recovery codes, and the session's new token."""

    recovery_codes: tuple[str, ...]
    token: str


async def propose_second_factor(desk: FrontDesk, session: SessionRecord, password: str) -> Proposal:
    """With the password once more: whoever found a session open must not lock its owner out. Raise LoginRefusal."""
    login = await desk.logins.of(session.account_id)
    await require_password(desk, login, password)
    secret = mint_secret(desk.choose)
    if not await desk.second_factors.propose(session.account_id, secret):
        raise SecondFactorThere
    return Proposal(secret, link_for_app(secret, email=login.email, issuer=desk.issuer))


async def confirm_second_factor(desk: FrontDesk, session: SessionRecord, code: str) -> Confirmed:
    """Turn it on, by one code that the app shows. Raise LoginRefusal."""
    codes = tuple(mint_recovery_code(desk.choose) for _ in range(RECOVERY_CODES))
    token = mint_token(desk.choose)
    confirmation = Confirmation(
        account_id=session.account_id,
        session_id=session.session_id,
        code=code,
        recovery_digests=[desk.peppers.digest(plain(each), desk.peppers.in_use) for each in codes],
        token_digest=token_digest(token),
    )
    subject = [Subject.of_account("second_factor", session.account_id)]
    await desk.lockouts.begin(subject)
    if not await desk.second_factors.confirm(confirmation):
        raise WrongCode
    await desk.lockouts.forget(subject)
    return Confirmed(codes, token)


async def require_second_factor(desk: FrontDesk, account_id: int, code: str) -> None:
    """Use up one code. Raise SecondFactorMissing where the account has none, WrongCode, or TooManyAttempts."""
    login = await desk.logins.of(account_id)
    if not login.second_factor:
        raise SecondFactorMissing
    await pass_second_factor(desk, account_id, code)


async def require_owner(desk: FrontDesk, session: SessionRecord, proof: OwnerProof) -> LoginRecord:
    """For what a session alone is not enough for. Raise WrongCredentials, SecondFactorNeeded, WrongCode, or
    TooManyAttempts."""
    login = await desk.logins.of(session.account_id)
    await require_password(desk, login, proof.password)
    if login.second_factor and not proof.code:
        raise SecondFactorNeeded
    if login.second_factor:
        await pass_second_factor(desk, login.account_id, proof.code)
    return login


async def turn_off_second_factor(desk: FrontDesk, session: SessionRecord, code: str) -> None:
    """Turn it off by one last code; the person's other sessions end. Staff can do little until they set up
    another."""
    await require_second_factor(desk, session.account_id, code)
    me, here = session.account_id, session.session_id
    await desk.second_factors.turn_off(me, keep_session_id=here, actor=owner(me))


class FrontDeskSecondFactor:
    """The `SecondFactor` port, for use-cases that ask for a code."""

    def __init__(self, desk: FrontDesk) -> None:
        self._desk = desk

    async def check(self, account_id: int, code: str) -> bool:
        try:
            await require_second_factor(self._desk, account_id, code)
        except (NotOnFile, SecondFactorMissing, WrongCode):
            return False
        return True
