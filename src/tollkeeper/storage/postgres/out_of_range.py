"""What the database does not take, in words: people do not know the names of its constraints."""

import re

import asyncpg

# By table and column: what may be written there.
RANGES = {
    ("model", "id"): "A model's id has 1 to 128 letters, digits and . _ : / @ -, and begins with a letter or digit.",
    ("provider_account", "name"): "A provider account's name has 1 to 64 small letters, digits and . _ -, and begins "
    "with a letter or digit.",
    ("provider_account", "base_url"): "A provider's address begins with https:// or http:// and has no space and no @.",
    ("account_group", "name"): "A group's name has 1 to 32 small letters, digits, _ and -, and begins with a letter.",
    ("account", "name"): "An account's name has 1 to 120 characters.",
    ("api_key", "name"): "A key's name has 1 to 64 characters.",
    ("redemption_batch", "note"): "A note has at most 500 characters.",
    ("withdrawal", "payee"): "A payee has 1 to 200 characters, on one line.",
}
_OF_A_COLUMN = re.compile(r"(?P<column>\w+?)_check\d*")


def out_of_range(problem: asyncpg.CheckViolationError) -> str:
    """Where the constraint's column is known, what may be there; otherwise whose value it is."""
    table, constraint = getattr(problem, "table_name", None) or "", getattr(problem, "constraint_name", None) or ""
    found = _OF_A_COLUMN.fullmatch(constraint.removeprefix(f"{table}_"))
    column = found["column"] if found else ""
    told = RANGES.get((table, column))
    if told is None:
        what = f"the {column.replace('_', ' ')} of a {table.replace('_', ' ')}" if table and column else "a value"
        told = f"It does not take {what} like that."
    return f"Nothing was changed: the database refused. {told}"


def refusal_in_words(problem: Exception) -> str | None:
    """What the database did not take, in words; None for anything that is no refusal of its."""
    return out_of_range(problem) if isinstance(problem, asyncpg.CheckViolationError) else None
