"""A PostgreSQL cluster of our own."""

import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.servers.process import Server, ServerDied

# Tests end with their cluster, so its files need not survive a power cut; proofs of durability ask for `durable`.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

AUTH = "scram-sha-256"


class Postgres(Server):
    name = "postgres"
    # A fast shutdown: sessions are ended, data is written.
    ending = signal.SIGINT

    def __init__(
        self,
        *,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
        within: Path | None = None,
        auth: str = AUTH,
    ) -> None:
        """`auth`: how passwords are asked for."""
        super().__init__(within)
        self._auth = auth
        self.settings = (
            {
                "listen_addresses": "127.0.0.1",
                "unix_socket_directories": "",
                "max_connections": "100",
                "shared_buffers": "256MB",
                "autovacuum_naptime": "10s",
                # In its own folder: what it has in the system's shared memory would outlive an immediate shutdown.
                "dynamic_shared_memory_type": "mmap",
            }
            | ({} if durable else FAST)
            | dict(settings or {})
        )

    @property
    def url(self) -> str:
        return self.database_url("postgres")

    def database_url(self, database: str) -> str:
        return f"postgresql://tollkeeper:{self.password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        if not (self.folder / "data").exists():
            self._initialise()
        super().start()

    def __exit__(self, *_: object) -> None:
        # Its files go: what is still in memory need not be written to them.
        self.crash()
        super().__exit__()

    def crash(self) -> None:
        """An immediate shutdown: nothing is written, the next start recovers from the log."""
        self._end(signal.SIGQUIT)

    def command(self) -> Sequence[str]:
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        return [binary("postgres"), "-D", str(self.folder / "data"), f"--port={self.port}", *options]

    def is_ready(self) -> bool:
        probe = [binary("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-d", "postgres"]
        return subprocess.run(probe, check=False).returncode == 0

    def _initialise(self) -> None:
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(self.password)
        if self.user is not None:
            shutil.chown(password, self.user)
        command = [binary("initdb"), "-D", str(self.folder / "data"), "-U", "tollkeeper", f"--pwfile={password}"]
        options = [f"--auth={self._auth}", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        done = subprocess.run(
            [*command, *options], check=False, cwd=self.folder, capture_output=True, text=True, **self.identity()
        )
        if done.returncode:
            raise ServerDied(f"PostgreSQL made no database of its own:\n{done.stderr[-2000:]}")


class MissingProgram(CannotRun):
    """PostgreSQL is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}, a program of PostgreSQL, is not installed.")


def binary(name: str) -> str:
    """Debian keeps the server's programs off the PATH, one folder for each major version."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise MissingProgram(name)
    return found
