"""The guard at the door: knows the client behind a connection, sends banned ones away, counts invalid calls."""

import logging
import time
from functools import lru_cache

from tollkeeper.core.client_ip import Ip, Network, client_ip, is_in, read_ip, written
from tollkeeper.core.errors import GatewayError, IpBanned
from tollkeeper.edge.exchange import Exchange
from tollkeeper.ports import Ban, Bans, InvalidCalls

FORWARDED_FOR = b"x-forwarded-for"
CLIENTS_REMEMBERED = 8_192
HOPS_BYTES_MOST = 256
WARN_EVERY_SECONDS = 60.0

log = logging.getLogger(__name__)


class Guard:
    def __init__(self, bans: Bans, invalid_calls: InvalidCalls, trusted: tuple[Network, ...]) -> None:
        self._bans = bans
        self._invalid_calls = invalid_calls
        self._trusted = trusted
        self._warned_at = float("-inf")

        @lru_cache(CLIENTS_REMEMBERED)
        def client(peer: str, forwarded_for: str) -> tuple[Ip | None, str]:
            found = client_ip(peer, [forwarded_for] if forwarded_for else [], trusted)
            return found, written(found)

        @lru_cache(CLIENTS_REMEMBERED)
        def is_trusted(peer: str) -> bool:
            ip = read_ip(peer)
            return ip is not None and is_in(ip, trusted)

        self._client, self._is_trusted = client, is_trusted

    def recognise(self, exchange: Exchange) -> None:
        """Say who is calling. Raise IpBanned."""
        hops = exchange.header_lines(FORWARDED_FOR)
        forwarded_for = ""
        if hops and self._is_trusted(exchange.peer):
            # Its last hops are its own work; what stands before them may be anybody's, and as long as they like.
            forwarded_for = b",".join(hops)[-HOPS_BYTES_MOST:].decode("latin-1")
        elif hops and not self._trusted:
            self._warn(exchange.peer)
        exchange.client, exchange.ip = self._client(exchange.peer, forwarded_for)
        ban = self._bans.find(exchange.ip)
        if ban is not None:
            raise _refusal(ban)

    def _warn(self, peer: str) -> None:
        if time.monotonic() - self._warned_at > WARN_EVERY_SECONDS:
            self._warned_at = time.monotonic()
            log.warning(
                "%s says for whom it forwards, and is not believed: if it is your balancer, name it in "
                "TOLLKEEPER_TRUSTED_PROXIES, or its clients share one IP and one ban",
                peer,
            )

    def note(self, exchange: Exchange, refusal: GatewayError) -> None:
        """An invalid call counts against the IP that sent it; our own proxies are not to blame."""
        if refusal.counts_as_invalid and exchange.ip:
            self._invalid_calls.note(exchange.ip, refusal.code)


WHY = {
    "invalid_calls": "it sent too many invalid calls",
    "peak": "an account was at its peak rate for too long from it, again",
    "operator": "an operator of this service banned it",
}


def _refusal(ban: Ban) -> IpBanned:
    return IpBanned(
        f"The IP {ban.ip} is banned until {ban.until:%Y-%m-%d %H:%M:%S} UTC, because {WHY[ban.why]}. "
        f"Nothing was charged. Sending again will not help: stop, mend what was wrong, or write to support."
    )
