"""A PostgreSQL server that follows another one, to take its place when it dies."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import asyncpg

from tollkeeper.demo.servers.postgres import Postgres, binary
from tollkeeper.demo.servers.process import ServerDied, wait_until_async


class Standby(Postgres):
    """It reads what the other one writes, from its beginning until it is promoted."""

    name = "standby"

    def __init__(
        self, primary: Postgres, *, settings: Mapping[str, str] | None = None, within: Path | None = None
    ) -> None:
        super().__init__(durable=True, settings=settings, within=within)
        self._primary = primary
        self.password = primary.password

    def promote(self) -> None:
        """Take writes from now on; the primary must be gone."""
        command = [binary("pg_ctl"), "promote", "-D", str(self.folder / "data"), "-w", "-t", "60"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self.identity())

    def _initialise(self) -> None:
        command = [binary("pg_basebackup"), "-D", str(self.folder / "data"), "--write-recovery-conf", "--no-sync"]
        reached = ["--checkpoint=fast", "-h", "127.0.0.1", "-p", str(self._primary.port), "-U", "tollkeeper"]
        done = subprocess.run(
            [*command, *reached],
            check=False,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=os.environ | {"PGPASSWORD": self.password},
            **self.identity(),
        )
        if done.returncode:
            raise ServerDied(f"PostgreSQL made no standby:\n{done.stderr[-2000:]}")


async def wait_for_standby(primary: Postgres) -> None:
    """From now on the primary says that something is done only when its standby has it on disk, too."""
    owner = await asyncpg.connect(primary.url)
    try:
        await owner.execute("alter system set synchronous_standby_names = '*'")
        await owner.execute("select pg_reload_conf()")

        async def is_waited_for() -> bool:
            return bool(await owner.fetchval("select count(*) from pg_stat_replication where sync_state = 'sync'"))

        await wait_until_async(is_waited_for)
    finally:
        await owner.close()
