"""What a request's head must be like, as far as the server lets the application see it.

The server merges or drops some of what is ambiguous: equal lengths, a length beside chunks, lines that end with LF
alone. `tollkeeper front` refuses that before the server.
"""

import re
from functools import lru_cache

from tollkeeper.core.errors import MalformedHeader
from tollkeeper.edge.http.exchange import Exchange

HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
HOSTS_REMEMBERED = 256


def check_framing(exchange: Exchange) -> None:
    """Raise MalformedHeader for a transfer coding that not everybody takes for chunks."""
    codings = exchange.header_lines(b"transfer-encoding")
    if codings and [coding.lower() for coding in codings] != [b"chunked"]:
        raise MalformedHeader("The header 'transfer-encoding' must be 'chunked', once. Nothing was charged.")


def host_of(exchange: Exchange) -> str:
    """The host that is called. The server makes an empty one where none was sent."""
    host = exchange.header(b"host")
    if not host:
        raise MalformedHeader("The header 'host' is required.")
    if not _is_host(host):
        raise MalformedHeader("The header 'host' must be a host name or an IP, with or without a port.")
    return host


@lru_cache(HOSTS_REMEMBERED)
def _is_host(text: str) -> bool:
    return HOST.fullmatch(text) is not None
