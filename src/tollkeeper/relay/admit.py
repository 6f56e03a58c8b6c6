"""Who is asking: turn credentials into the record of a key that may be used now."""

from collections.abc import Awaitable

from tollkeeper.core.client_ip import Ip
from tollkeeper.core.errors import GatewayError, KeyMissing, KeyUnknown
from tollkeeper.core.keys import KeyRecord, require_usable
from tollkeeper.ports import Clock, Keys

SCHEME = "Bearer "
OTHER_SCHEME = (
    "The API key was not read: the word before it in the header 'Authorization' is not written 'Bearer'. Write it with "
    "a capital B and small letters, then one space and the key."
)


def admit(authorization: str | None, client: Ip | None, keys: Keys, clock: Clock) -> Awaitable[KeyRecord]:
    """The caller behind an Authorization header."""
    if authorization is None or not authorization.startswith(SCHEME):
        raise KeyMissing(OTHER_SCHEME if authorization and authorization.lower().startswith(SCHEME.lower()) else None)
    return admit_key(authorization.removeprefix(SCHEME), client, keys, clock)


async def admit_key(key: str, client: Ip | None, keys: Keys, clock: Clock) -> KeyRecord:
    """The caller behind a bare key."""
    record = await keys.find(key)
    if record is None:
        raise KeyUnknown
    try:
        require_usable(record, clock.now(), client)
    except GatewayError as refusal:
        refusal.whose = (record.account_id, record.key_id)
        raise
    return record
