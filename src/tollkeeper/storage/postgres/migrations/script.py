"""Run a migration's SQL file."""

from pathlib import Path

from alembic import op


def run_sql_beside(migration_file: str) -> None:
    """Run the .sql file of the same name, inside the migration's transaction."""
    script = Path(migration_file).with_suffix(".sql").read_text(encoding="utf-8")
    bind = op.get_bind()
    # The adapter opens its transaction with the first statement it sees itself.
    bind.exec_driver_sql("select 1")
    connection = bind.connection.dbapi_connection
    # asyncpg takes a script of many statements only when it is not prepared.
    connection.run_async(lambda raw: raw.execute(script))  # type: ignore[union-attr]
