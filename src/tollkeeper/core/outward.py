"""Addresses that lead out: whether a host, or the address of a picture, is the public Internet's.

Rules of this file
1. Nothing is resolved or fetched here. A public name can still lead inward by DNS: whoever fetches must look again.
2. Readers of addresses differ. What is not written in the one plain way (an IPv4 address as four decimal numbers, a
   host without user and password) is refused, rather than read as one of them would.
"""

import re
import unicodedata
from ipaddress import IPv6Address, IPv6Network, ip_address

from tollkeeper.core.provider_address import Reach, carried, reach_of

HOST_CHARACTERS_MOST = 253
URL_CHARACTERS_MOST = 8_192

# Zones that are of one host, of one network, or of nobody (RFC 6761, RFC 8375, ICANN's `internal`).
INNER_ZONES = frozenset(
    {
        *("localhost", "localdomain", "local", "internal", "intranet", "private", "lan", "home", "corp"),
        *("arpa", "invalid", "onion"),
    }
)
# All that is routed publicly.
PUBLIC_IPV6 = IPv6Network("2000::/3")

_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_LABEL = re.compile(r"[\w-]{1,63}")
# The last label of what some reader takes for an IPv4 address: decimal, octal or hexadecimal.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_WEB_ADDRESS = re.compile(r"https?://(?P<authority>[^/?#\\\s]+)(?P<rest>[/?#].*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:@%]+)(?::(?P<port>[0-9]{1,5}))?")
# Blanks and what some readers drop or turn around inside of an address.
_UNSOUND = re.compile(r"[\x00-\x20\x7f\\]")


def is_public_host(host: str) -> bool:
    """Whether a host name or a literal address, an IPv6 one with or without brackets, is of the public Internet."""
    plain = unicodedata.normalize("NFKC", host.translate(_DOTS)).casefold()
    if plain.startswith("[") and plain.endswith("]"):
        plain = plain[1:-1]
        if ":" not in plain:
            return False
    if ":" in plain:
        return _is_public_address(plain)
    plain = plain.removesuffix(".")
    labels = plain.split(".")
    if len(plain) > HOST_CHARACTERS_MOST or not all(map(_LABEL.fullmatch, labels)):
        return False
    if _NUMBER.fullmatch(labels[-1]):
        return _is_public_address(plain)
    return len(labels) > 1 and labels[-1] not in INNER_ZONES


def is_public_url(url: str) -> bool:
    """Whether it is an http or https address, with no user or password, whose host is public."""
    if len(url) > URL_CHARACTERS_MOST or _UNSOUND.search(url):
        return False
    address = _WEB_ADDRESS.fullmatch(url)
    authority = address and _AUTHORITY.fullmatch(address["authority"])
    return authority is not None and is_public_host(authority["host"])


def _is_public_address(text: str) -> bool:
    try:
        # It takes no octal, hexadecimal or shortened IPv4.
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and (address.scope_id or address not in PUBLIC_IPV6 or any(carried(address))):
        # One that carries another address is nobody's way to a picture.
        return False
    return reach_of(address) is Reach.PUBLIC
