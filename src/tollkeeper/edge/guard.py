"""The guard at the door: knows the client behind a connection, sends banned ones away, counts invalid calls.

Rules of this file
1. A ban for invalid calls holds for whoever has no good key: any web page can make its visitors send invalid calls,
   and must not keep them from what is theirs. Bans by operators and for peak time hold for everybody.
2. Whether a key is good is answered from memory where that is possible. Only so many keys a second are looked up for a
   banned client, and for all of them, whatever they send.
3. Whoever has a good key and asks for an endpoint that is not there has a wrong address in a program's settings. It is
   not counted.
4. What a browser was made to send without a key by a page of somebody else's costs nothing and is not counted. Whatever
   came with a key is.
"""

import logging
import time
from collections import Counter
from functools import lru_cache

from tollkeeper.core.client_ip import Ip, Network, client_ip, is_in, read_ip, written
from tollkeeper.core.errors import (
    BadRequest,
    BodyTooLarge,
    EndpointNotFound,
    GatewayError,
    IpBanned,
    KeyMissing,
    MethodNotAllowed,
    NotFound,
    ResponsesNotStored,
    Unavailable,
)
from tollkeeper.core.keys import has_key_form
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.ports import Ban, Bans, Clock, InvalidCalls, Keys
from tollkeeper.relay.admit import SCHEME, admit

FORWARDED_FOR = b"x-forwarded-for"
CLIENTS_REMEMBERED = 8_192
HOPS_BYTES_MOST = 256
WARN_EVERY_SECONDS = 60.0
# Keys that one process looks up for a banned client, and for all of them: who tries keys leaves room for the others.
LOOKUPS_A_SECOND = 10
ALL_LOOKUPS_A_SECOND = 100
AUTHORIZATION = b"authorization"
# Headers in which a key may stand.
KEY_HEADERS = (AUTHORIZATION, b"x-api-key", b"api-key", b"x-goog-api-key")
# A browser says so itself of what a page had it load. Who lies about it gains nothing: without a key, there is nothing
# to be had.
OWN_SITE = frozenset({b"same-origin", b"none"})
# Refusals for which no key was looked at.
WITHOUT_KEY = (BadRequest, BodyTooLarge, KeyMissing, MethodNotAllowed, NotFound)
# Refusals of whoever asks for what is not there.
WRONG_PATH = (EndpointNotFound, ResponsesNotStored)
INVALID_CALLS = "invalid_calls"

log = logging.getLogger(__name__)


class Guard:
    def __init__(self, bans: Bans, invalid_calls: InvalidCalls, trusted: tuple[Network, ...]) -> None:
        self._bans = bans
        self._invalid_calls = invalid_calls
        self._trusted = trusted
        self._warned_at = float("-inf")
        self._lookups_since = float("-inf")
        self._lookups: Counter[str] = Counter()

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
        """Say who is calling, and whether only a good key lets them pass. Raise IpBanned."""
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
            if ban.why != INVALID_CALLS:
                raise _refusal(ban)
            exchange.ban = ban

    async def let_pass(self, exchange: Exchange, keys: Keys, clock: Clock) -> None:
        """Raise IpBanned where a banned client has no good key in its header."""
        authorization = _credentials(exchange)
        key = authorization.removeprefix(SCHEME)
        if key == authorization or not has_key_form(key):
            raise refusal_of(exchange)
        if keys.remembered(key) is None:
            self.take_lookup(exchange)
        try:
            exchange.called_by(await admit(authorization, exchange.client, keys, clock))
        except Unavailable:
            raise
        except GatewayError:
            raise refusal_of(exchange) from None

    def take_lookup(self, exchange: Exchange) -> None:
        """Raise IpBanned where no key is looked up any more in this second."""
        now = time.monotonic()
        if now - self._lookups_since >= 1:
            self._lookups_since = now
            self._lookups.clear()
        if self._lookups[exchange.ip] >= LOOKUPS_A_SECOND or self._lookups.total() >= ALL_LOOKUPS_A_SECOND:
            raise refusal_of(exchange)
        self._lookups[exchange.ip] += 1

    def _warn(self, peer: str) -> None:
        if time.monotonic() - self._warned_at > WARN_EVERY_SECONDS:
            self._warned_at = time.monotonic()
            log.warning(
                "%s says for whom it forwards, and is not believed: if it is your balancer, name it in "
                "TOLLKEEPER_TRUSTED_PROXIES, or its clients share one IP and one ban",
                peer,
            )

    def note(self, exchange: Exchange, refusal: GatewayError) -> None:
        """An invalid call counts against the IP that sent it; our own proxies are not to blame, nor are browsers for
        what a page has them load."""
        if not (refusal.counts_as_invalid and exchange.ip) or exchange.ban is not None:
            return
        if isinstance(refusal, WRONG_PATH) and exchange.caller is not None:
            return
        if not (isinstance(refusal, WITHOUT_KEY) and has_no_key(exchange) and is_from_elsewhere(exchange)):
            self._invalid_calls.note(exchange.ip, refusal.code)


def _credentials(exchange: Exchange) -> str:
    """Where a key may stand in two headers, and the other is given alone, that."""
    lines = exchange.header_lines(AUTHORIZATION)
    if exchange.key_header is not None and exchange.header_lines(exchange.key_header):
        try:
            return exchange.authorization or ""
        except GatewayError:
            raise refusal_of(exchange) from None
    return (lines or (b"",))[0].decode("latin-1")


def has_no_key(exchange: Exchange) -> bool:
    return not any(map(exchange.header_lines, KEY_HEADERS))


def is_from_elsewhere(exchange: Exchange) -> bool:
    """Whether a page of another site had a browser send this, as the browser says."""
    site = exchange.header_lines(b"sec-fetch-site")
    if site:
        return site[0] not in OWN_SITE
    return bool(exchange.header_lines(b"origin") or exchange.header_lines(b"referer"))


WHY = {
    INVALID_CALLS: "it sent too many invalid calls",
    "peak": "an account was at its peak rate for too long from it, again",
    "operator": "an operator of this service banned it",
}


def refusal_of(exchange: Exchange) -> IpBanned:
    return _refusal(exchange.ban) if exchange.ban is not None else IpBanned()


def _refusal(ban: Ban) -> IpBanned:
    return IpBanned(
        f"The IP {ban.ip} is banned until {ban.until:%Y-%m-%d %H:%M:%S} UTC, because {WHY[ban.why]}. "
        f"Nothing was charged. Sending again will not help: stop, mend what was wrong, or write to support."
    )
