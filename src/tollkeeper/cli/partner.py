"""The partner plan and the faucet: `partner statement`, `requests`, `withdraw`, `approve`, `pay`, `refuse`, `revoke`;
`faucet`."""

from collections.abc import Coroutine
from typing import Annotated, Any, Protocol

import typer

from tollkeeper.accounts.money.faucet import pour
from tollkeeper.accounts.partner import (
    approve_withdrawal,
    pay_withdrawal,
    refuse_withdrawal,
    request_withdrawal,
    revoke_reward,
)
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.codes import reason_in, secret_line, usd_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason, WriteOff
from tollkeeper.cli.listing import AsJson, cash_fields, fields_of, quota_fields, show_json, show_list, show_table
from tollkeeper.cli.speak import say, settings_or_complain
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.money.codes import invite_link
from tollkeeper.core.partner.plan import usd_of_micros
from tollkeeper.core.people.logins import Actor
from tollkeeper.ports.partner import (
    NewWithdrawal,
    PartnerDesk,
    PartnerStatement,
    RewardKind,
    RewardRecord,
    WithdrawalRecord,
)

partner_app = typer.Typer(help="The partner plan: invitations, gift codes and cash.", no_args_is_help=True)

NO_LINK = "no invite link: TOLLKEEPER_CONSOLE_URL does not say where the console is. The gift code works without it."
WITHDRAWAL = ("request", "account", "asked", "USD", "payee", "now")
Request = Annotated[int, typer.Argument(metavar="REQUEST", max=MOST_ID, help="The request's number.")]


def register(app: typer.Typer) -> None:
    app.add_typer(partner_app, name="partner")
    app.command()(faucet)


@partner_app.command("statement")
@command()
async def statement(account: AccountId, as_json: AsJson = False) -> None:
    """An account's invite link, its cash, its rewards and its withdrawals."""
    settings = settings_or_complain()
    async with office(settings) as desk:
        found = await desk.partners.statement(account)
    cash, base = found.cash, settings.console_url
    link = invite_link(base, found.gift_code) if base else None
    if as_json:
        show_json({"account_id": account, "invite_link": link, **_statement_record(found)})
        return
    say(f"account {account}: gift code {found.gift_code}, {found.invited} invited")
    say(f"invite link {link}" if link else NO_LINK)
    say(
        f"cash in USD: {usd_of_micros(cash.granted)} granted = {usd_of_micros(cash.pending)} pending"
        f" + {usd_of_micros(cash.available)} available + {usd_of_micros(cash.paid)} paid"
        f" + {usd_of_micros(cash.revoked)} revoked"
    )
    if found.rewards:
        show_table(("reward", "granted", "for", "USD", "top-up", "now"), map(_reward_line, found.rewards))
    if found.withdrawals:
        show_table(WITHDRAWAL, map(_withdrawal_line, found.withdrawals))


@partner_app.command("requests")
@command()
async def requests(as_json: AsJson = False) -> None:
    """The withdrawals that wait to be approved, paid or refused, the oldest first."""
    async with office(settings_or_complain()) as desk:
        waiting = await desk.partners.open_withdrawals()
    show_list(
        waiting,
        head=WITHDRAWAL,
        line=_withdrawal_line,
        record=_withdrawal_record,
        as_json=as_json,
        none="No withdrawal waits for a decision.",
    )


@partner_app.command("withdraw")
@command(ValueError)
def withdraw(
    account: AccountId,
    usd: Annotated[str, typer.Argument(metavar="USD", help="How much, in USD.")],
    payee: Annotated[str, typer.Option(help="Where the money goes: whose bank account, at which bank.")],
) -> Coroutine[None, None, None]:
    """Ask for cash. A code of the account's second factor is read from the terminal or from standard input. Whoever has
    none sets it up in the console, on the page Security."""
    wish = NewWithdrawal(account_id=account, usd_micros=usd_in(usd), payee=payee)
    return _withdraw(wish, secret_line("Code of the second factor"))


async def _withdraw(wish: NewWithdrawal, code: str) -> None:
    async with office(settings_or_complain()) as desk:
        request = await request_withdrawal(wish, code, desk.second_factor, desk.partners)
    say(f"request {request}: {usd_of_micros(wish.usd_micros)} USD asked for")


@partner_app.command("approve")
@command(ValueError)
async def approve(request: Request, reason: Reason) -> None:
    """Approve a withdrawal: it may be paid now."""
    await _decide(request, reason_in(reason), approve_withdrawal)
    say(f"request {request} is approved")


@partner_app.command("pay")
@command(ValueError)
async def pay(request: Request, reference: Annotated[str, typer.Option(help="The transfer's own number.")]) -> None:
    """Note that an approved withdrawal was paid."""
    await _decide(request, reason_in(reference), pay_withdrawal)
    say(f"request {request} is paid")


@partner_app.command("refuse")
@command(ValueError)
async def refuse(request: Request, reason: Reason) -> None:
    """Refuse a withdrawal that was not paid; the cash stays with the account."""
    await _decide(request, reason_in(reason), refuse_withdrawal)
    say(f"request {request} is refused")


@partner_app.command("revoke")
@command(ValueError)
async def revoke(
    reward: Annotated[int, typer.Argument(metavar="REWARD", max=MOST_ID, help="The reward's number.")],
    reason: Reason,
    write_off: WriteOff = False,
) -> None:
    """Take a reward back, by counter-entries."""
    why = reason_in(reason)
    async with office(settings_or_complain()) as desk:
        done = await revoke_reward(reward, why, desk.partners, write_off=write_off, by=desk.operator)
    if done.before:
        say(f"reward {reward} was revoked before")
        return
    taken, owed, let_go = (_usd(done.kind, part) for part in (done.taken_back, done.owed, done.written_off))
    say(f"reward {reward} revoked: {taken} USD taken back, {owed} USD owed, {let_go} USD written off")


@command(ValueError)
async def faucet(
    account: AccountId,
    ip: Annotated[str, typer.Option(metavar="IP", help="Where the customer asks from: 192.0.2.7 or 2001:db8::7.")],
) -> None:
    """Give an account its free key. It is shown once, now."""
    async with office(settings_or_complain()) as desk:
        given = await pour(account, ip, desk.faucet_terms, desk.key_maker, desk.faucet)
        amount = desk.faucet_terms.amount
    say(f"key {given.issued.key_id}\n{given.issued.key}")
    say(f"It has {usd_exact(amount)} USD until {moment(given.expires_at)}. Copy it now: it cannot be shown again.")


class _Decision(Protocol):
    async def __call__(self, withdrawal_id: int, reason: str, desk: PartnerDesk, /, *, by: Actor) -> None: ...


async def _decide(request: int, reason: str, decide: _Decision) -> None:
    async with office(settings_or_complain()) as desk:
        await decide(request, reason, desk.partners, by=desk.operator)


def _statement_record(found: PartnerStatement) -> dict[str, Any]:
    cash = fields_of(found.cash, "granted", "pending", "available", "paid", "revoked", "requested")
    return {
        **fields_of(found, "gift_code", "invited"),
        "cash": cash_fields(**cash),
        "rewards": list(map(_reward_record, found.rewards)),
        "withdrawals": list(map(_withdrawal_record, found.withdrawals)),
    }


def _reward_record(reward: RewardRecord) -> dict[str, Any]:
    amounts = {"amount": reward.amount, "full_amount": reward.full_amount}
    told = cash_fields(**amounts) if reward.kind is RewardKind.REFERRAL_CASH else quota_fields(**amounts)
    times = ("granted_at", "available_at", "revoked_at", "revoked_by", "why")
    return fields_of(reward, "id", "kind", "top_up_id") | told | fields_of(reward, *times)


def _withdrawal_record(each: WithdrawalRecord) -> dict[str, Any]:
    asked = fields_of(each, "id", "account_id", "payee", "state", "requested_at")
    decided = fields_of(each, "approved_at", "approved_by", "approved_why", "decided_at", "decided_by", "reason")
    return asked | cash_fields(amount=each.usd_micros) | decided


def _withdrawal_line(each: WithdrawalRecord) -> tuple[str, ...]:
    cells = (str(each.id), str(each.account_id), moment(each.requested_at), usd_of_micros(each.usd_micros))
    return (*cells, each.payee, _withdrawal_now(each))


def _withdrawal_now(each: WithdrawalRecord) -> str:
    if each.decided_at is not None:
        return f"{each.state} {moment(each.decided_at)} by {each.decided_by}: {each.reason}"
    if each.approved_at is not None:
        return f"{each.state} {moment(each.approved_at)} by {each.approved_by}: {each.approved_why}"
    return each.state.value


def _reward_line(reward: RewardRecord) -> tuple[str, ...]:
    amount = _usd(reward.kind, reward.amount)
    if reward.amount < reward.full_amount:
        amount += f" (capped, of {_usd(reward.kind, reward.full_amount)})"
    now = f"withdrawable from {moment(reward.available_at)}" if reward.kind is RewardKind.REFERRAL_CASH else ""
    if reward.revoked_at is not None:
        now = f"revoked {moment(reward.revoked_at)} by {reward.revoked_by}: {reward.why}"
    named = reward.kind.value.replace("_", " ")
    return (str(reward.id), moment(reward.granted_at), named, amount, str(reward.top_up_id), now)


def _usd(kind: RewardKind, amount: int) -> str:
    return usd_of_micros(amount) if kind is RewardKind.REFERRAL_CASH else usd_exact(Quota(amount))
