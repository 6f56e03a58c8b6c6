"""SSRF protection: which provider addresses are called, judged by name with every request and by IP on connecting.

A name that was harmless when it was entered may stand for another address later (DNS rebinding). So what makes the
sockets has the last word: nothing is connected that it does not let pass. Behind an egress proxy the proxy looks names
up, and must itself refuse what they stand for; addresses that are written as numbers are refused here even so.
"""

import logging
import socket
from functools import lru_cache
from typing import Any

from tollkeeper.core.provider_address import address_refusal, host_refusal

# Hosts and addresses of which it is remembered that the log has told.
REPORTED_MOST = 1_024
HOSTS_KEPT = 4_096

log = logging.getLogger(__name__)


class AddressRefused(OSError):
    """Nothing was sent: a provider must not be there."""


class Reachable:
    def __init__(self, *, private_allowed: bool) -> None:
        self._private_allowed = private_allowed
        self._reported: set[str] = set()
        # A host is judged once.
        self.refuses = lru_cache(HOSTS_KEPT)(self._refuses)

    def _refuses(self, scheme: str, host: str) -> bool:
        why = host_refusal(scheme, host, private_allowed=self._private_allowed)
        if why is not None:
            self._report(host, why)
        return why is not None

    def socket(self, found: tuple[Any, ...]) -> socket.socket:
        """A socket for one address that a name stands for. Raise AddressRefused."""
        family, kind, protocol, _, place = found
        why = address_refusal(place[0], private_allowed=self._private_allowed)
        if why is not None:
            self._report(place[0], why)
            raise AddressRefused(why)
        return socket.socket(family, kind, protocol)

    def _report(self, host: str, why: str) -> None:
        if host not in self._reported and len(self._reported) < REPORTED_MOST:
            self._reported.add(host)
            log.error("a provider account is not called: %s", why)
