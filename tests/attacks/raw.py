"""Raw sockets: bytes as they are, and all that comes back."""

import re
import socket

import msgspec

STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3}) ")


class Heard(msgspec.Struct, frozen=True):
    text: bytes
    # Whether the other side closed; otherwise it was not waited for any longer.
    is_closed: bool

    @property
    def statuses(self) -> list[int]:
        return [int(status) for status in STATUS.findall(self.text)]


def say(port: int, raw: bytes, *, patience_seconds: float) -> Heard:
    """Send `raw` over a connection of its own; hear all, until it is closed or silent for so long."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience_seconds) as connection:
        try:
            connection.sendall(raw)
            while piece := connection.recv(65_536):
                heard += piece
        except TimeoutError:
            return Heard(heard, is_closed=False)
        except ConnectionError:
            # Closed while there was more to read than it wanted to.
            pass
    return Heard(heard, is_closed=True)
