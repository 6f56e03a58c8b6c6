"""The front desk: the ports and settings that sign-up and sign-in need."""

from collections.abc import Callable, Sequence

import msgspec

from tollkeeper.core.client_ip import read_ip, written
from tollkeeper.core.keys import Peppers
from tollkeeper.core.people.lockout import Subject
from tollkeeper.ports.customers.sent_forms import SentForms
from tollkeeper.ports.email_changes import EmailChanges
from tollkeeper.ports.factor_resets import FactorResets
from tollkeeper.ports.passkeys import Passkeys
from tollkeeper.ports.people import Lockouts, LoginRecord, Logins, PasswordHashes, SecondFactors, Sessions, SignUps
from tollkeeper.ports.readings import ReadAsDesk


class FrontDesk(msgspec.Struct, frozen=True, kw_only=True):
    sign_ups: SignUps
    logins: Logins
    email_changes: EmailChanges
    sessions: Sessions
    readings: ReadAsDesk
    second_factors: SecondFactors
    passkeys: Passkeys
    factor_resets: FactorResets
    # Challenges that passkeys answered: each counts once.
    sent_forms: SentForms
    lockouts: Lockouts
    hashes: PasswordHashes
    # Under which recovery codes are digested.
    peppers: Peppers
    # Picks one character of a string by chance fit for secrets.
    choose: Callable[[str], str]
    # As authenticator apps name the service.
    issuer: str


class RequestOrigin(msgspec.Struct, frozen=True):
    """Where a request comes from. The IP is empty where it is not known."""

    ip: str = ""
    agent: str = ""

    @property
    def network(self) -> str:
        """The network by which attempts are counted: an IPv6 client has a whole /64 to try from."""
        return written(read_ip(self.ip))


class NoLockouts:
    """The `Lockouts` port for operators on their own machine: nothing is counted, so nobody can lock them out."""

    async def begin(self, subjects: Sequence[Subject]) -> None: ...
    async def take_back(self, subjects: Sequence[Subject]) -> None: ...
    async def forget(self, subjects: Sequence[Subject]) -> None: ...
    async def let_in(self, email: str) -> None: ...
    async def clear(self, login: LoginRecord, *, actor: str) -> int:
        return 0


def without_lockouts(desk: FrontDesk) -> FrontDesk:
    return msgspec.structs.replace(desk, lockouts=NoLockouts())
