"""What happened to a customer, in words: the timeline's rows, and what they are about."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

import msgspec

from tollkeeper.console import figures
from tollkeeper.console.staff.details import details_but
from tollkeeper.core.partner.plan import usd_of_micros
from tollkeeper.office.accounts import TimelineRow

HAPPENED: Mapping[str, str] = {
    "account.create": "Account opened",
    "account.invited": "Came by an invite",
    "account.credit": "Credited",
    "account.move": "Moved to another group",
    "account.disable": "Disabled",
    "account.enable": "Enabled again",
    "account.close": "Closed by its owner",
    "account.restrict": "Restricted",
    "account.lift_restriction": "Restriction lifted",
    "account.notices": "Chose what to be told of",
    "account.read_as": "Their console was read by staff",
    "account.read_as_end": "Reading their console ended",
    "code.redeem": "Redeemed a code",
    "dispute.open": "Disputed a charge",
    "dispute.credit": "Disputed charge credited",
    "dispute.decline": "Dispute declined",
    "faucet.grant": "Free key from the faucet",
    "ip.ban": "A client was banned for their calls",
    "key.create": "Key made",
    "key.change": "Key changed",
    "key.rotate": "Key rotated",
    "key.pause": "Key paused",
    "key.resume": "Key resumed",
    "key.revoke": "Key revoked",
    "key.open_for_chat": "Chat opened",
    "login.open": "Signed up",
    "login.role": "Role changed",
    "login.sign_in": "Signed in",
    "login.revoke_session": "A session ended",
    "login.revoke_sessions": "Sessions ended",
    "login.send_reset": "Link for a new password sent",
    "login.reset_ask": "Dropping a second factor was asked for",
    "login.reset_confirm": "Second factor dropped by two of staff",
    "login.reset_refuse": "Dropping a second factor was refused",
    "login.unlock": "Unlocked",
    "login.ask_email_change": "Asked for another e-mail",
    "login.change_email": "E-mail changed",
    "login.passkey_added": "Passkey added",
    "login.passkey_removed": "Passkey removed",
    "login.recovery_code": "Recovery code used",
    "login.second_factor_on": "Second factor turned on",
    "login.second_factor_off": "Second factor turned off",
    "lot.expire": "Quota expired",
    "lot.extend": "Lot extended",
    "lot.revoke": "Lot taken back",
    "reward.gift_given": "Gift: their code was used",
    "reward.gift_received": "Gift: they used a code",
    "reward.referral_cash": "Cash for somebody they invited",
    "reward.revoke": "Reward taken back",
    "top_up.revoke": "Top-up refunded",
    "withdrawal.request": "Asked for a withdrawal",
    "withdrawal.approve": "Withdrawal approved",
    "withdrawal.pay": "Withdrawal paid",
    "withdrawal.refuse": "Withdrawal refused",
}
# Told by the amount beside it, or by the subject.
LEFT_OUT = frozenset(
    {"amount", "account", "account_id", "agent", "by", "call", "charged", "code", "reading", "reason", "reset"}
    | {"revoked", "session", "source", "source_id", "taken_back", "usd_micros", "why"}
)
# The subject's pages, where it has any.
PLACES: Mapping[str, str] = {
    "dispute": "/staff/disputes/{}",
    "ip": "/staff/bans?all=true&ip={}",
    "reset": "/staff/resets/{}",
    "top_up": "/staff/top-ups/{}",
    "withdrawal": "/staff/withdrawals/{}",
}
# Acts on record under the account which are about something else: by the beginning of their name, what, and the part
# of their detail that has its number.
ABOUT: Sequence[tuple[str, str, str]] = (
    ("code.redeem", "top_up", "top_up"),
    ("dispute.", "dispute", "call"),
    ("login.reset_", "reset", "reset"),
)


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    words: str
    by: str
    subject: str
    href: str
    amount: str
    reason: str
    details: list[tuple[str, str]]


def happened(row: TimelineRow) -> Happened:
    kind, _, number = _subject(row).partition(":")
    is_about = kind != "account"
    return Happened(
        at=row.at,
        words=HAPPENED.get(row.what, row.what.replace("_", " ").replace(".", ": ")),
        by=row.by,
        subject=f"{kind.replace('_', '-')} {number}" if is_about else "",
        href=PLACES[kind].format(quote(number)) if kind in PLACES else "",
        amount=_amount(row),
        reason=str(row.detail.get("reason") or row.detail.get("why") or ""),
        details=details_but(LEFT_OUT, row.detail),
    )


def _subject(row: TimelineRow) -> str:
    for beginning, kind, name in ABOUT:
        if row.what.startswith(beginning) and name in row.detail:
            return f"{kind}:{row.detail[name]}"
    return row.subject


def _amount(row: TimelineRow) -> str:
    """Quota that came or went, or cash; empty where nothing moved."""
    if row.amount is not None:
        return figures.usd(row.amount.micro_quota)
    micros = row.detail.get("usd_micros")
    return f"${usd_of_micros(micros)}" if isinstance(micros, int) else ""
