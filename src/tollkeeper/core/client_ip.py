"""Who is calling: the client's IP, from the connection or from proxies that are trusted, never from a bare header.

Rules of this file
1. The client is the TCP peer. Where that is a trusted proxy, it is the right-most hop of X-Forwarded-For that is not.
2. An IPv6 client is its /64: whoever has one address there has them all. IPv4 in IPv6 clothes is IPv4.
3. What cannot be read as an IP is nobody, and so are trusted proxies.
"""

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
Ip = IPv4Address | IPv6Address

PREFIX_V6 = 64
# Of the networks that are IPv4 in IPv6 clothes.
MAPPED_BITS = 96
# What proxies say of those for whom they ask.
FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip", "via")


class NotAnIp(ValueError):
    """What was given is no IP; the message says so."""


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Raise ValueError with what to change."""
    return tuple(_undressed(ip_network(text)) for text in texts)


def client_ip(peer: str, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> Ip | None:
    """The client; nobody where it is one of our own proxies, which are never banned, or no IP at all. `forwarded_for`:
    the values of the header, in order."""
    nearest = read_ip(peer)
    if nearest is None:
        return None
    hops = [hop for value in forwarded_for for hop in value.split(",")] if is_in(nearest, trusted) else []
    while hops and is_in(nearest, trusted):
        hop = read_ip(hops.pop())
        if hop is None:
            break
        nearest = hop
    return None if is_in(nearest, trusted) else nearest


def read_ip(text: str) -> Ip | None:
    """An address with or without a port, in brackets or not."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return _plain(found)


def is_in(ip: Ip, networks: Sequence[Network]) -> bool:
    ip = _plain(ip)
    return any(ip.version == network.version and ip in network for network in networks)


def written(ip: Ip | None) -> str:
    """The name of a client in bans and counts: its IPv4 address, or its IPv6 network."""
    if ip is None:
        return ""
    if isinstance(ip, IPv6Address):
        return str(ip_network((ip, PREFIX_V6), strict=False))
    return str(ip)


def _plain(ip: Ip) -> Ip:
    return (ip.ipv4_mapped or ip) if isinstance(ip, IPv6Address) else ip


def _undressed(network: Network) -> Network:
    first = _plain(network.network_address)
    if isinstance(network, IPv6Network) and isinstance(first, IPv4Address) and network.prefixlen >= MAPPED_BITS:
        return IPv4Network((first, network.prefixlen - MAPPED_BITS))
    return network


def client_in(text: str) -> str:
    """An IP as bans name it. An IPv6 client is its /64, which may be written out too. Raise NotAnIp."""
    address, slash, prefix = text.partition("/")
    ip = read_ip(address)
    whole = str(PREFIX_V6 if isinstance(ip, IPv6Address) else 32)
    if ip is None or (slash and prefix != whole):
        raise NotAnIp(f"'{text}' is not an IP: write one like 192.0.2.7 or 2001:db8::7, or a network 2001:db8::/64.")
    return written(ip)


def is_on_this_machine(peer: str, has_header: Callable[[str], bool]) -> bool:
    """Whether somebody here asks for themselves, and no proxy for somebody else."""
    address = read_ip(peer)
    return address is not None and address.is_loopback and not any(map(has_header, FORWARDED))
