"""Where a provider may be: which addresses are called, which only in one's own network, and which never.

Whoever enters a provider's address makes this service call it, with a key and from inside the network. So the addresses
where clouds tell a machine's credentials (metadata services), and those of no single host, are never called. Private
ones are called where a setting says so: for one's own engines, the demo and tests.

Rules of this file
1. An address is judged by what it means, not by how it is written: 0x7f.1 is loopback, ::ffff:10.0.0.1 is private.
2. An address that carries another one (mapped, 6to4, NAT64 …) is as bad as the worse of the two.
3. A name is judged only where it says enough. Any other is looked up when it is called; what is found is judged then.
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from tollkeeper.core.client_ip import Ip, Network

# Services that tell a machine's own credentials to whoever asks from it, and addresses of no single host.
NEVER: Final[tuple[Network, ...]] = tuple(
    map(
        ip_network,
        (
            "169.254.169.254/32",  # Amazon, Google, Azure and most others
            "169.254.170.0/24",  # Amazon's containers
            "169.254.0.23/32",  # Tencent
            "100.100.100.200/32",  # Alibaba
            "192.0.0.192/32",  # Oracle
            "168.63.129.16/32",  # Azure
            "fd00:ec2::/32",  # Amazon
            "fd20:ce::254/128",  # Google
            "0.0.0.0/8",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "::/128",
            "ff00::/8",
        ),
    )
)
NEVER_NAMES: Final = (
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
)
PRIVATE_ENDINGS: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
# Carrier-grade NAT (RFC 6598), IPv6's former site-local addresses, and a network's own NAT64 are private, too.
PRIVATE: Final = (ip_network("100.64.0.0/10"), ip_network("fec0::/10"), ip_network("64:ff9b:1::/48"))
NAT64: Final = IPv6Network("64:ff9b::/96")
COMPATIBLE: Final = IPv6Network("::/96")
NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")

ALLOW: Final = "TOLLKEEPER_PRIVATE_PROVIDERS=true allows that"


class Reach(IntEnum):
    PUBLIC = 0
    PRIVATE = 1
    NEVER = 2


def host_refusal(scheme: str, host: str, *, private_allowed: bool) -> str | None:
    """Why a provider at this host is not called, in words; None where it may be."""
    if scheme != "https" and not private_allowed:
        return f"over plain {scheme} anybody on the way could read the key and every call; {ALLOW}"
    return _words(host, reach_of_host(host), private_allowed=private_allowed)


def address_refusal(text: str, *, private_allowed: bool) -> str | None:
    """Why a provider at this address, which a name was found to stand for, is not called."""
    return _words(text, reach_of(ip_address(text)), private_allowed=private_allowed)


def reach_of_host(host: str) -> Reach:
    plain = unicodedata.normalize("NFKC", host).lower().strip("[]").rstrip(".")
    address = _address(plain)
    if address is not None:
        return reach_of(address)
    if plain in NEVER_NAMES or not plain:
        return Reach.NEVER
    # A name without a dot is one of the network that it is used in.
    return Reach.PRIVATE if "." not in plain or plain.endswith(PRIVATE_ENDINGS) else Reach.PUBLIC


def reach_of(address: Ip) -> Reach:
    return max(map(_reach, (address, *carried(address))))


def is_canonical(host: str) -> bool:
    """Whether an address, if it is one, is written as everybody writes it."""
    plain = host.strip("[]").rstrip(".")
    address = _address(plain.lower())
    return address is None or ":" in plain or str(address) == plain


def _reach(address: Ip) -> Reach:
    if any(address in network for network in NEVER if network.version == address.version):
        return Reach.NEVER
    # An IPv6 address that carries another is judged by that one.
    if isinstance(address, IPv6Address) and any(carried(address)):
        return Reach.PUBLIC
    private = any(address in network for network in PRIVATE if network.version == address.version)
    return Reach.PRIVATE if private or not address.is_global else Reach.PUBLIC


def carried(address: Ip) -> Iterator[IPv4Address]:
    """The IPv4 addresses within an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    # ::1 is no address that carries 0.0.0.1.
    if address in NAT64 or (address in COMPATIBLE and int(address) > 0xFFFF):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)


def _address(host: str) -> Ip | None:
    try:
        return ip_address(host)
    except ValueError:
        return _old_form(host.split("."))


def _old_form(parts: list[str]) -> IPv4Address | None:
    """What the C library makes of one to four numbers, each decimal, octal (0…) or hexadecimal (0x…)."""
    if len(parts) > 4 or not all(NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        *first, last = (_number(part) for part in parts)
    except ValueError:
        return None
    if any(number > 0xFF for number in first) or last >= 256 ** (4 - len(first)):
        return None
    return IPv4Address(sum(number << 8 * (3 - place) for place, number in enumerate(first)) + last)


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)


def _words(host: str, reach: Reach, *, private_allowed: bool) -> str | None:
    if reach is Reach.NEVER:
        return f"{host} is an address of the network itself (metadata, broadcast, unspecified), never a provider"
    if reach is Reach.PRIVATE and not private_allowed:
        return f"{host} is a private address; {ALLOW}"
    return None
