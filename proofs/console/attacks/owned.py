"""What an account owns, as one value: whoever attacks it must leave it as it was."""

from collections.abc import Mapping

from proofs.rig.console.place import Place
from proofs.rig.console.residents import Resident

# Tables by account, and what of their rows may change by itself.
TABLES: Mapping[str, tuple[str, ...]] = {
    "api_key": (),
    "lot": (),
    "top_up": (),
    "withdrawal": (),
    "reward": (),
    "faucet_grant": (),
    "login": (),
    "recovery_code": (),
    "session": ("last_seen_at",),
    "passkey": (),
    "notice_choice": (),
}


def what_is_owned(place: Place, owner: Resident) -> list[str]:
    found = []
    for table, changing in TABLES.items():
        without = "".join(f" - '{column}'" for column in changing)
        rows = place.rows(
            f"select to_jsonb(t){without} as row from {table} t where account_id = $1 order by 1",  # noqa: S608
            owner.person.account_id,
        )
        found += [f"{table}: {row['row']}" for row in rows]
    return found
