"""A Redis server of our own."""

import socket
import subprocess
from collections.abc import Sequence

from tools.services.process import Server


class Redis(Server):
    name = "redis"

    def __init__(self, *options: str) -> None:
        """`options`: as on the command line of redis-server, beside the usual ones."""
        super().__init__()
        self._options = options

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        usual = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        return ["redis-server", "--port", str(self.port), *usual, *self._options]

    def is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    def ask(self, *command: str | int) -> list[str]:
        """What the server answers to one command, line by line. (By its own client: these tools are also used where
        none for Python is installed.)"""
        asked = ["redis-cli", "-e", "-p", str(self.port), *map(str, command)]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
