"""Who asks: the operator key of a request, and whose rights it has."""

import msgspec
from starlette.requests import Request

from tollkeeper.core.client_ip import Network, client_ip
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.core.people.operator_keys import (
    OperatorKeyMissing,
    OperatorKeyNotKnown,
    OperatorKeyRecord,
    Scope,
    ScopeMissing,
    has_operator_key_form,
    may,
    operator_key_digest,
    require_usable,
)
from tollkeeper.office.desks import Office


class Asker(msgspec.Struct, frozen=True):
    """Whoever sent a request."""

    key: OperatorKeyRecord

    @property
    def actor(self) -> Actor:
        """As acts know them: a key with every right is an operator's, any other one is support's."""
        role = Role.OPERATOR if may(self.key.rights, Scope.EVERYTHING) else Role.SUPPORT
        return Actor(self.key.actor, role)

    def require(self, scope: Scope) -> None:
        """Raise ScopeMissing."""
        if not may(self.key.rights, scope):
            raise ScopeMissing


async def asker_of(request: Request, office: Office, trusted_proxies: tuple[Network, ...]) -> Asker:
    """Raise an OperatorKeyRefusal."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise OperatorKeyMissing
    text = text.strip()
    if not has_operator_key_form(text):
        raise OperatorKeyNotKnown
    peer = request.client.host if request.client else ""
    client = client_ip(peer, request.headers.getlist("x-forwarded-for"), trusted_proxies)
    key = require_usable(await office.operator_keys.find(operator_key_digest(text)), client)
    await office.operator_keys.note_use(key.id)
    return Asker(key)
