"""The address of a request, taken apart, and the head that goes out to it.

Nothing that could end a line gets into a head: an address or a header with such a character is refused.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tollkeeper.ports import UpstreamRequest

PORTS: Final = {"http": 80, "https": 443}
# Addresses that are taken apart once.
TARGETS_KEPT: Final = 4_096
# Beginnings of heads that are written once. No value of a header is in them: some are secrets.
BEGINNINGS_KEPT: Final = 1_024
VISIBLE: Final = re.compile(r"[!-~]+")
# What every request says of itself, unless it says otherwise.
USUAL: Final = (("accept", "*/*"), ("accept-encoding", "identity"), ("user-agent", "tollkeeper"))

NAME: Final[Callable[[tuple[str, str]], str]] = itemgetter(0)

# What connections are kept by.
Destination = tuple[str, int, bool]


class Target(msgspec.Struct, frozen=True):
    scheme: str
    host: str
    port: int
    # As the Host header has it.
    authority: str
    path: str
    destination: Destination

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


@lru_cache(TARGETS_KEPT)
def target_of(url: str) -> Target:
    """Raise ValueError where it is no address that can be called."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or parts.username is not None or not parts.hostname:
        raise ValueError("it is no address of http or https")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    port = parts.port or PORTS[parts.scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    name = f"[{host}]" if ":" in host else host
    authority = name if port == PORTS[parts.scheme] else f"{name}:{port}"
    if not VISIBLE.fullmatch(f"{authority}{path}"):
        raise ValueError("it has characters that no address may have")
    return Target(parts.scheme, host, port, authority, path, (host, port, parts.scheme == "https"))


def head(target: Target, request: UpstreamRequest, more: str = "", *, whole_address: bool = False) -> bytes:
    """The head of a request. What it says of itself holds, the host included. `more`: lines of headers beside its own.
    `whole_address`: as proxies want it. Raise ValueError where a header has the end of a line in it."""
    asked = target.url if whole_address else target.path
    begun = _beginning(request.method, asked, target.authority, tuple(map(NAME, request.headers)))
    length = f"content-length: {len(request.body)}\r\n" if request.body or request.method != "GET" else ""
    return f"{begun}{more}{_lines(request.headers)}{length}\r\n".encode()


@lru_cache(BEGINNINGS_KEPT)
def _beginning(method: str, asked: str, authority: str, names: tuple[str, ...]) -> str:
    """What requests have in common that go to one address and say something under the same names."""
    said = set(map(str.lower, names))
    usual = [(name, value) for name, value in (("host", authority), *USUAL) if name not in said]
    return f"{method} {asked} HTTP/1.1\r\n{_lines(usual)}"


def _lines(headers: Sequence[tuple[str, str]]) -> str:
    """Raise ValueError."""
    lines = [*map(": ".join, headers)]
    said = "".join(lines)
    if "\n" in said or "\r" in said or "\0" in said:
        raise ValueError("a header has a character that none may have")
    return "\r\n".join([*lines, ""])
