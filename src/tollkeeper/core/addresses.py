"""Addresses: the names under which the service is reached, and what each of them is for."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache

# Host headers as they came, for which the address was looked up before.
HOSTS_REMEMBERED = 256
HOST_CHARACTERS_MOST = 260


class Address(StrEnum):
    MAIN = "main"
    BACKUP = "backup"
    BILLING = "billing"
    AGENT = "agent"


class AddressBook:
    """Which address a `Host` header names.

    A host is written with or without a port; without one it matches any port. With no main host
    configured, main answers to every name that no other address claims.
    """

    def __init__(self, hosts: Mapping[Address, Iterable[str]]) -> None:
        self._addresses = {host.lower(): address for address, names in hosts.items() for host in names}
        claimed = set(self._addresses.values())
        self._fallback = None if Address.MAIN in claimed else Address.MAIN
        self.has_billing = Address.BILLING in claimed
        self._known = lru_cache(HOSTS_REMEMBERED)(self._find)

    def find(self, host: str) -> Address | None:
        return self._known(host) if len(host) <= HOST_CHARACTERS_MOST else self._find(host)

    def _find(self, host: str) -> Address | None:
        host = host.lower()
        exact = self._addresses.get(host)
        if exact:
            return exact
        return self._addresses.get(without_port(host), self._fallback)


def without_port(host: str) -> str:
    """`api.example:8080` → `api.example`; `[::1]:8080` → `[::1]`."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
