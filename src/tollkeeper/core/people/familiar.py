"""Whether a sign-in comes from where its owner signs in: a browser and a network that were seen together before.

Rules of this file
1. A network is an IPv4 /16 or an IPv6 /32, about one carrier: telephones change their addresses all day.
2. The first sign-in of a new login is no news, for its owner has just opened it.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from ipaddress import ip_network

import msgspec

from tollkeeper.core.client_ip import read_ip

PREFIXES = {4: 16, 6: 32}
JUST_OPENED = timedelta(days=1)


class SignInPlace(msgspec.Struct, frozen=True):
    ip: str
    agent: str

    @property
    def network(self) -> str:
        """Empty where the IP is not known."""
        client = read_ip(self.ip)
        return "" if client is None else str(ip_network((client, PREFIXES[client.version]), strict=False))


def is_news(here: SignInPlace, before: Collection[SignInPlace], *, opened_at: datetime, now: datetime) -> bool:
    """`before`: where its sessions of the last weeks were begun; `opened_at`: since when there is the login."""
    if not before:
        return now - opened_at > JUST_OPENED
    return (here.network, here.agent) not in {(place.network, place.agent) for place in before}
