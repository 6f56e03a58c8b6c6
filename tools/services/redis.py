"""A Redis server of our own."""

import socket
from collections.abc import Sequence

from redis import Redis as Client

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

    def ask(self, *command: str | int) -> object:
        """What the server answers to one command."""
        with Client(port=self.port, socket_timeout=5, decode_responses=True) as client:
            answer: object = client.execute_command(*command)
            return answer
