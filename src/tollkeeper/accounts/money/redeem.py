"""Redeeming a code: one answer for everything that was not accepted, so that guessing tells nothing."""

from datetime import datetime

import msgspec

from tollkeeper.core.client_ip import Ip, written
from tollkeeper.core.money.codes import code_digest, read_gift_code
from tollkeeper.core.partner.plan import ReferralTerms
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.redemption import RedeemAttempt, Redeemed, Redemptions, TopUp


class CodeNotAccepted(ValueError):
    """Whatever was wrong with the code or the gift code: nothing was taken."""

    def __init__(self) -> None:
        super().__init__("The code or the gift code was not accepted, and nothing was taken. Check what you typed.")


class RedeemingLocked(ValueError):
    """Too many codes of this account, or from this IP, were not accepted."""

    def __init__(self, until: datetime) -> None:
        self.until = until
        super().__init__(f"Too many codes were not accepted. Try again after {until:%Y-%m-%d %H:%M:%S} UTC.")


class AccountIsDisabled(ValueError):
    """An account that may not take anything in or out."""

    def __init__(self) -> None:
        super().__init__("This account is disabled. Write to support.")


class RedeemWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a customer typed, and where from."""

    account_id: int
    code: str
    gift_code: str | None = None
    # None: an operator redeems; attempts are not counted.
    ip: Ip | None


class RedeemedCode(msgspec.Struct, frozen=True):
    """The top-up that a code became."""

    top_up: TopUp
    # By this very account, some time ago: nothing was added now.
    before: bool


async def redeem(wish: RedeemWish, terms: ReferralTerms, redemptions: Redemptions, *, actor: str) -> RedeemedCode:
    """Raise CodeNotAccepted, RedeemingLocked, AccountIsDisabled, or NotOnFile."""
    attempt = RedeemAttempt(
        account_id=wish.account_id,
        digest=code_digest(wish.code),
        gift_code=read_gift_code(wish.gift_code),
        ip=written(wish.ip),
    )
    outcome = await redemptions.redeem(attempt, terms, actor=actor)
    if outcome.top_up is not None:
        return RedeemedCode(outcome.top_up, before=outcome.verdict is Redeemed.REPLAYED)
    if outcome.locked_until is not None:
        raise RedeemingLocked(outcome.locked_until)
    if outcome.verdict is Redeemed.UNKNOWN_ACCOUNT:
        raise NotOnFile(f"There is no account {wish.account_id}.")
    if outcome.verdict is Redeemed.ACCOUNT_DISABLED:
        raise AccountIsDisabled
    raise CodeNotAccepted
