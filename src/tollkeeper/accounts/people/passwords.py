"""New passwords: by the old one, or by a link sent to the e-mail."""

from tollkeeper.accounts.people.front_desk import FrontDesk, RequestOrigin
from tollkeeper.accounts.people.sign_up import may_write_to
from tollkeeper.core.people.emails import canonical
from tollkeeper.core.people.lockout import Subject
from tollkeeper.core.people.logins import LinkNotValid, SessionRecord, TooBusy, WrongCredentials, token_digest
from tollkeeper.core.people.passwords import for_checking, require_good, written
from tollkeeper.ports.people import LoginRecord

MEANWHILE = "The password was changed by somebody else meanwhile."


async def change_password(desk: FrontDesk, session: SessionRecord, old: str, new: str) -> None:
    """Every other session of the account is over. Raise LoginRefusal."""
    login = await desk.logins.of(session.account_id)
    require_good(new, email=login.email)
    await require_password(desk, login, old)
    hashed = await desk.hashes.hash(written(new))
    if not await desk.logins.change_password(login, hashed, keep_session_id=session.session_id):
        raise WrongCredentials(MEANWHILE)


async def require_password(desk: FrontDesk, login: LoginRecord, password: str) -> None:
    """The password again: a stolen session is not enough. Raise WrongCredentials, or TooManyAttempts after a few."""
    subject = [Subject.of_account("password", login.account_id)]
    await desk.lockouts.begin(subject)
    try:
        right = await desk.hashes.matches(login.password_hash, for_checking(password))
    except TooBusy:
        await desk.lockouts.take_back(subject)
        raise
    if not right:
        raise WrongCredentials("The password of this account is not right. Nothing was changed.")
    await desk.lockouts.forget(subject)


async def request_reset(desk: FrontDesk, email: str, visitor: RequestOrigin) -> None:
    """Have a link sent, if the e-mail has a login: nobody but its owner learns whether. Raise LoginRefusal."""
    wanted = canonical(email)
    if await may_write_to(desk, wanted, "reset", visitor):
        await desk.logins.request_reset(wanted)


async def reset_password(desk: FrontDesk, token: str, new: str) -> int:
    """Every session is over; a second factor stays. Raise LoginRefusal."""
    digest = token_digest(token)
    email = await desk.logins.email_to_reset(digest)
    if email is None:
        raise LinkNotValid
    require_good(new, email=email)
    account_id = await desk.logins.reset_password(digest, await desk.hashes.hash(written(new)))
    if account_id is None:
        raise LinkNotValid
    # A new password ends the locks: neither an attacker's guesses nor the owner's own keep the owner out.
    await desk.lockouts.let_in(email)
    await desk.lockouts.forget([Subject.of_account("password", account_id)])
    return account_id
