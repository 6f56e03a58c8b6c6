"""Provider accounts as `tollkeeper doctor` finds them: does the envelope of each key open?"""

from collections.abc import Sequence

import msgspec

from tollkeeper.storage.envelope import CannotOpen, EnvelopeKeys, unseal
from tollkeeper.storage.postgres.database import Database

ACCOUNTS = """
select name, base_url, key_envelope, state, suspended_at is not null as is_suspended from provider_account order by id
"""


class AccountCondition(msgspec.Struct, frozen=True):
    name: str
    base_url: str
    opens: bool
    takes_calls: bool


async def account_conditions(database: Database, keys: EnvelopeKeys) -> Sequence[AccountCondition]:
    return [
        AccountCondition(
            row["name"],
            row["base_url"],
            opens=_opens(row["key_envelope"], keys, row["name"]),
            takes_calls=row["state"] == "active" and not row["is_suspended"],
        )
        for row in await database.rows(ACCOUNTS)
    ]


def _opens(envelope: bytes, keys: EnvelopeKeys, name: str) -> bool:
    try:
        unseal(envelope, keys, sealed_for=name)
    except CannotOpen:
        return False
    return True
