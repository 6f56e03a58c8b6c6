"""A Redis server of our own."""

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tollkeeper.demo.servers.process import Server


class Redis(Server):
    name = "redis"
    # Where it listens.
    host = "127.0.0.1"

    def __init__(self, *options: str, password: str | None = None, within: Path | None = None) -> None:
        """`options`: as on the command line of redis-server, beside the usual ones. `password`: one that several share;
        an empty one lets everybody in. Without it: one of its own."""
        super().__init__(within)
        self._options = options
        if password is not None:
            self.password = password

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{self.host}:{self.port}/0"

    def start(self) -> None:
        # In a file: everybody can read a command line.
        secret = f"requirepass {self.password}\nmasterauth {self.password}\n" if self.password else ""
        self._write("redis.conf", secret)
        super().start()

    def command(self) -> Sequence[str]:
        usual = ["--bind", self.host, "--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        return ["redis-server", str(self.folder / "redis.conf"), "--port", str(self.port), *usual, *self._options]

    def is_ready(self) -> bool:
        greeting, welcome = (f"AUTH {self.password}\r\n".encode(), b"+OK\r\n") if self.password else (b"", b"")
        wanted = welcome + b"+PONG\r\n"
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(greeting + b"PING\r\n")
                return connection.recv(len(wanted), socket.MSG_WAITALL) == wanted
        except OSError:
            return False

    def ask(self, *command: str | int) -> list[str]:
        """What the server answers to one command, line by line. (By its own client: these tools are also used where
        none for Python is installed.)"""
        asked = ["redis-cli", "-e", "-h", self.host, "-p", str(self.port), *map(str, command)]
        known = os.environ | ({"REDISCLI_AUTH": self.password} if self.password else {})
        done = subprocess.run(asked, env=known, capture_output=True, text=True, check=True, timeout=30)
        return done.stdout.splitlines()

    def _write(self, name: str, text: str) -> None:
        """A file of its configuration, for its own eyes."""
        file = self.folder / name
        file.touch(mode=0o600)
        file.write_text(text)
        if self.user is not None:
            shutil.chown(file, self.user)
