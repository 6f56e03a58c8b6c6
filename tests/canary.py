"""A server that nobody has a reason to call: it counts who did."""

import socket
import threading
from typing import Self


class Canary:
    """Listens on a port of its own from start to stop, and notes each connection with the first bytes that came."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    self.heard.append(connection.recv(65_536))
                except TimeoutError:
                    self.heard.append(b"")
