"""The faucet: a ready-to-use key with a little quota, once in 24 hours, for customers with a verified e-mail."""

from datetime import datetime

import msgspec

from tollkeeper.accounts.keys import IssuedKey, KeyMaker
from tollkeeper.accounts.money.redeem import AccountIsDisabled
from tollkeeper.core.people.faucet import faucet_networks
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.faucet import Faucet, FaucetTerms, FaucetWish, Poured

KEY_NAME = "Faucet"


class FaucetDry(ValueError):
    """Not now; the message says why and, where time will help, when to come again."""

    def __init__(self, message: str, until: datetime | None = None, *, verdict: Poured | None = None) -> None:
        """`verdict`: none where the client's network is not known."""
        self.until = until
        self.verdict = verdict
        super().__init__(message)


class FaucetKey(msgspec.Struct, frozen=True):
    issued: IssuedKey
    expires_at: datetime


async def pour(
    account_id: int, ip: str, terms: FaucetTerms, maker: KeyMaker, faucet: Faucet, *, actor: str = ""
) -> FaucetKey:
    """Make a key with its quota. `actor`: who does it for the customer, if anybody does. Raise FaucetDry,
    AccountIsDisabled, or NotOnFile."""
    networks = faucet_networks(ip)
    if networks is None:
        raise FaucetDry("The faucet counts its grants by network, and this client's is not known.")
    key, text = maker.make()
    wish = FaucetWish(account_id=account_id, networks=networks, key_name=KEY_NAME, key_text=text)
    outcome = await faucet.grant(wish, terms, actor=actor or f"account:{account_id}")
    if outcome.key_id is not None and outcome.until is not None:
        return FaucetKey(IssuedKey(outcome.key_id, key), outcome.until)
    if outcome.verdict is Poured.UNKNOWN_ACCOUNT:
        raise NotOnFile(f"There is no account {account_id}.")
    if outcome.verdict is Poured.ACCOUNT_DISABLED:
        raise AccountIsDisabled
    raise FaucetDry(_why(outcome.verdict, outcome.until), outcome.until, verdict=outcome.verdict)


def _why(verdict: Poured, until: datetime | None) -> str:
    if verdict is Poured.UNVERIFIED:
        return "The faucet is for accounts with a verified e-mail."
    again = f"Come again after {until:%Y-%m-%d %H:%M:%S} UTC." if until else ""
    if verdict is Poured.TOO_SOON:
        return f"The faucet gives once in 24 hours. {again}"
    if verdict is Poured.DAY_FULL:
        return f"The faucet has given to everybody together as often as it does in 24 hours. {again}"
    return f"The faucet has given to your network as often as it does in 24 hours. {again}"
