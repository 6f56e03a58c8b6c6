"""Balances by key: the key is typed into a form, looked up as a call would be, and forgotten with the answer.

Rules of this file
1. The key comes in the body of a POST: no address, history or log has it.
2. Looking up counts like any other lookup with the key, and a key that is not known like any other invalid call.
3. Nothing is shown that the key could not read by the API (`/v2/account/balance`, `/v2/token/balance`), but its lots.
"""

from collections.abc import Sequence
from urllib.parse import parse_qs

import msgspec

from tollkeeper.core.errors import MalformedBody, MissingParameter
from tollkeeper.core.keys import hint
from tollkeeper.core.money import balance
from tollkeeper.core.money.balance import Balance
from tollkeeper.edge.endpoints import KEY_BODY_BYTES, Services, pass_gate
from tollkeeper.edge.http.exchange import HTML, Exchange, Reply
from tollkeeper.edge.pages.pages import language_of
from tollkeeper.ports.customers.lots import LotRecord
from tollkeeper.relay.admit import admit_key

FIELD = "api_key"
FIELDS_MOST = 4


class FoundBalance(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows of a key."""

    # `sk-a…9fQx`
    key: str
    of_account: Balance
    account_held: int
    debt: int
    of_key: Balance
    key_held: int
    # None: as much as the account has.
    key_quota: int | None
    lots: Sequence[LotRecord]

    @property
    def remaining(self) -> int:
        """What is left in these lots; some of it may be others' to spend, by the key's own limit."""
        return sum(lot.remaining for lot in self.lots)

    @property
    def granted(self) -> int:
        return sum(lot.granted for lot in self.lots)


async def look_up(exchange: Exchange, services: Services) -> Reply:
    relay = services.relay
    key = key_in(await services.bodies.read(exchange, limit_bytes=KEY_BODY_BYTES))
    caller = await admit_key(key, exchange.client, relay.keys, relay.clock)
    exchange.called_by(caller)
    await pass_gate(exchange, caller, services)
    standing = await services.balances.standing(caller.key_id)
    found = FoundBalance(
        key=hint(key),
        of_account=balance.of_account(standing),
        account_held=standing.account_held,
        debt=standing.debt,
        of_key=balance.of_key(standing),
        key_held=standing.key_held,
        key_quota=standing.key_quota,
        lots=await services.pages.lots.of_key(caller.key_id),
    )
    shown = services.pages.render(
        "balance.html", language_of(exchange), path="/balance", error="", found=found, now=relay.clock.now()
    )
    return Reply(shown, headers=HTML)


def key_in(body: bytes) -> str:
    """The key in a form as browsers send it. Raise MalformedBody, MissingParameter."""
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=FIELDS_MOST)
    except ValueError:
        raise MalformedBody from None
    key = fields.get(FIELD, [""])[0].strip()
    if not key:
        raise MissingParameter(FIELD)
    return key
