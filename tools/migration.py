"""Begin a migration: `python -m tools.migration NAME --about "What it changes." [FUNCTION …]`.

A function is changed in its file in `storage/postgres/functions`. A migration that installs it carries a copy of the
whole text, so that it never changes when the file does.
"""

import argparse
import re
from pathlib import Path

from tollkeeper.storage.postgres import schema

FUNCTIONS = schema.FUNCTIONS
VERSIONS = schema.MIGRATIONS / "versions"
PYTHON = '''"""{about}"""

from tollkeeper.storage.postgres.migrations.script import run_sql_beside

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
    run_sql_beside(__file__)
'''


def begin(name: str, about: str, functions: list[str], versions: Path = VERSIONS) -> Path:
    """Write the two files of a migration that follows the newest one; return its SQL."""
    before = max(file.name[:4] for file in versions.glob("[0-9]*.sql"))
    revision = f"{int(before) + 1:04}"
    sql = versions / f"{revision}_{name}.sql"
    sql.write_text("\n".join((FUNCTIONS / f"{function}.sql").read_text() for function in functions))
    sql.with_suffix(".py").write_text(PYTHON.format(about=about, revision=revision, before=before))
    return sql


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.migration", description=__doc__)
    parser.add_argument("name", help="a few words, in small letters, with underscores")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help="those that it installs anew")
    parser.add_argument("--about", required=True, help="what it changes, in a sentence")
    asked = parser.parse_intermixed_args()
    if not re.fullmatch("[a-z][a-z0-9_]*", asked.name):
        parser.error(f"the name is written in small letters, with underscores: {asked.name}")
    if unknown := [name for name in asked.functions if not (FUNCTIONS / f"{name}.sql").exists()]:
        parser.error(f"there is no file for {', '.join(unknown)} in {FUNCTIONS}")
    print(begin(asked.name, asked.about, asked.functions))


if __name__ == "__main__":
    main()
