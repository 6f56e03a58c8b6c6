"""Controls: what the scanner must find. One is planted in each sink, and one in each encoding; a sink whose control is
not found was not read."""

import os
import tempfile
from pathlib import Path

from proofs.privacy.canaries import Canaries
from proofs.privacy.contained import ContainedDeployment
from proofs.privacy.open_files import OpenFiles
from proofs.privacy.scan import encoded
from proofs.rig.database import connect

# More than the head of a page of PostgreSQL's log, less than what is compressed.
APART = 200


class Controls:
    """Controls by the sink, or sink and encoding, where each must be found. Those of mails, pages, the console,
    metrics, commands, the environment and the collector are names that get there by themselves."""

    def __init__(self, canaries: Canaries) -> None:
        self.canaries = canaries
        self.words: dict[str, str] = {}

    def word(self, sink: str) -> str:
        """The control of a sink."""
        if sink not in self.words:
            self.words[sink] = self.canaries.word(sink)
        return self.words[sink]

    async def plant(self, site: ContainedDeployment, open_files: OpenFiles) -> None:
        """Put each where the product would."""
        await self._in_the_database(site)
        site.redis.ask("SET", "a-control", self.word("Redis, what is there"))
        site.redis.ask("SET", "gone", self.word("Redis, what was done"))
        site.redis.ask("DEL", "gone")
        logs = {"node": site.node.log, "front": site.front.log, "console": site.console.log}
        logs["jobs"] = site.folder / "jobs.log"
        for process, log in logs.items():
            sink = f"log of the {process}"
            with log.open("a") as file:
                file.write(f'{{"message":"{self.word(sink)}"}}\n')
        for sink, name in (("journal", "journal"), ("temporary files", "tmp"), ("core files", "work")):
            (site.folder / name / "control").write_text(self.word(sink))
        (site.folder / "log-site" / "copies" / "control.csv").write_text(self.word("log site"))
        self._in_every_encoding(site.folder / "tmp")
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(self.word("files without a name").encode())
            open_files.look(os.getpid())

    async def _in_the_database(self, site: ContainedDeployment) -> None:
        """One row that stays, one that is deleted again, and one that was only spoken of."""
        connection = await connect(site.postgres.url)
        try:
            await connection.execute("insert into account (name) values ($1)", self.word("database dump"))
            gone = self.word("PostgreSQL's files")
            # Twice, well apart: of one that lies across two pages of the log, the log's own words are in the middle.
            said = f"{gone}{' ' * APART}{gone}"
            await connection.execute("create table a_control as select $1::text as said", said)
            await connection.execute("drop table a_control")
            await connection.execute("select $1::text", self.word("log of PostgreSQL"))
        finally:
            await connection.close()

    def _in_every_encoding(self, folder: Path) -> None:
        for encoding, text in encoded(f"so many words before it: {self.canaries.marker}, and so many after it"):
            self.words[f"temporary files, {encoding}"] = ""
            (folder / encoding.replace(" ", "-")).write_bytes(b"before " + text + b" after")
