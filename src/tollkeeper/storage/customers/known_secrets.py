"""Whether the secrets of a process are those of its service: what it asks before it begins, and loads little for."""

from collections.abc import Sequence

from tollkeeper.storage.postgres.database import Database

MARKS = """
select exists (select from node, unnest(secrets) secret where secret like 'mark:%') as any,
       exists (select from node where $1 = any (secrets)) as mine
"""


async def mark_is_known(database: Database, mark: str) -> bool:
    """Whether a node of this service ever said that it knows this mark, or none said which it knows."""
    row = await database.row(MARKS, mark)
    return bool(row["mine"] or not row["any"])


async def keys_without_pepper(database: Database, versions: Sequence[int]) -> Sequence[int]:
    """Versions that are neither listed nor retired, and under which keys stand that could be used."""
    found = await database.rows(
        "select distinct pepper_version from api_key where pepper_version <> all ($1) and revoked_at is null "
        "and (expires_at is null or expires_at > ledger_now()) "
        "and pepper_version not in (select version from pepper_retired)",
        list(versions),
    )
    return sorted(row["pepper_version"] for row in found)
