"""The faucet: the networks and the person on which it counts its grants.

Rules of this file
1. An IPv4 client is its /24, an IPv6 client its /64: single addresses are too cheap to count. An IPv6 client is its /48
   too, for /64s are cheap to whoever has one; it has room for ten times as many.
2. E-mails that differ only by case, by a +tag or, where Gmail reads them, by dots are one person's.
"""

import hashlib
from ipaddress import IPv6Address, ip_network

import msgspec

from tollkeeper.core.client_ip import PREFIX_V6, Ip, read_ip

PREFIX_V4 = 24
WIDE_PREFIX_V6 = 48
# How many times as many grants a wide network has as a narrow one.
WIDE_TIMES = 10
# They deliver to one mailbox, whatever the dots.
GMAIL = "gmail.com"
GMAIL_NAMES = frozenset({GMAIL, "googlemail.com"})


class Networks(msgspec.Struct, frozen=True):
    """As `192.0.2.0/24`, or `2001:db8::/64` and `2001:db8::/48`."""

    narrow: str
    wide: str | None = None


def faucet_networks(ip: str) -> Networks | None:
    """None for what is no IP."""
    client = read_ip(ip)
    if client is None:
        return None
    if isinstance(client, IPv6Address):
        return Networks(_around(client, PREFIX_V6), _around(client, WIDE_PREFIX_V6))
    return Networks(_around(client, PREFIX_V4))


def folded_email(email: str) -> str:
    """The form that the e-mails of one person have in common."""
    name, _, domain = email.strip().lower().rpartition("@")
    name = name.partition("+")[0] or name
    if domain in GMAIL_NAMES:
        name, domain = name.replace(".", "") or name, GMAIL
    return f"{name}@{domain}"


def person_digest(email: str) -> bytes:
    """The digest by which the faucet, and the partner plan, recognise a person."""
    return hashlib.sha256(f"person {folded_email(email)}".encode()).digest()


def _around(client: Ip, prefix: int) -> str:
    return str(ip_network((client, prefix), strict=False))
