"""The partner plan and the faucet: `partner statement`, `requests`, `show`, `withdraw`, `approve`, `pay`, `refuse`,
`revoke`; `faucet`."""

from collections.abc import Coroutine
from typing import Annotated, Any
from uuid import uuid4

import typer

from tollkeeper.accounts.partner import UNDECIDED
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in, secret_line, usd_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, REASON_HERE, AccountId, Reason, WriteOff
from tollkeeper.cli.listing import (
    AsJson,
    cash_fields,
    fields_of,
    quota_fields,
    show_fields,
    show_json,
    show_list,
    show_table,
)
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.core.partner.plan import usd_of_micros
from tollkeeper.office.act import Act
from tollkeeper.office.partner import (
    DecideWish,
    FaucetFor,
    RevokeReward,
    WithdrawalNumber,
    WithdrawalsWish,
    WithdrawFor,
    approve_cash,
    ask_withdrawal,
    give_from_faucet,
    list_withdrawals,
    pay_cash,
    refuse_cash,
    revoke_reward,
    show_partner,
    show_withdrawal,
)
from tollkeeper.office.partner_views import PartnerView, RewardView, WithdrawalView
from tollkeeper.office.wishes import AccountWish, Changed
from tollkeeper.ports.partner import Decided, RewardKind

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
    found = await perform(show_partner, AccountWish(account=account))
    cash = found.cash
    if as_json:
        show_json({"account_id": account, "invite_link": found.invite_link, **_statement_record(found)})
        return
    say(f"account {account}: gift code {found.gift_code}, {found.invited} invited")
    say(f"invite link {found.invite_link}" if found.invite_link else NO_LINK)
    say(
        f"cash in USD: {cash.granted.usd} granted = {cash.pending.usd} pending"
        f" + {cash.available.usd} available + {cash.paid.usd} paid + {cash.revoked.usd} revoked"
    )
    if found.rewards:
        show_table(("reward", "granted", "for", "USD", "top-up", "now"), map(_reward_line, found.rewards))
    if found.withdrawals:
        show_table(WITHDRAWAL, map(_withdrawal_line, found.withdrawals))


@partner_app.command("requests")
@command()
async def requests(
    everything: Annotated[bool, typer.Option("--all", help="Those that were paid or refused too.")] = False,
    as_json: AsJson = False,
) -> None:
    """The withdrawals that wait to be approved, paid or refused, the oldest first."""
    show_list(
        await every_page(list_withdrawals, WithdrawalsWish(waiting=not everything), LISTED_MOST),
        head=WITHDRAWAL,
        line=_withdrawal_line,
        record=_withdrawal_record,
        as_json=as_json,
        none="No withdrawal waits for a decision.",
    )


@partner_app.command("show")
@command()
async def show(request: Request, as_json: AsJson = False) -> None:
    """A withdrawal: who asked for how much, and who decided what, when and why."""
    found = await perform(show_withdrawal, WithdrawalNumber(withdrawal=request))
    if as_json:
        show_json(_withdrawal_record(found))
        return
    show_fields(zip(WITHDRAWAL, _withdrawal_line(found), strict=True))


@partner_app.command("withdraw")
@command(ValueError)
def withdraw(
    account: AccountId,
    usd: Annotated[str, typer.Argument(metavar="USD", help="How much, in USD.")],
    payee: Annotated[str, typer.Option(help="Where the money goes: whose bank account, at which bank.")],
    reason: Reason = REASON_HERE,
) -> Coroutine[None, None, None]:
    """Ask for cash. A code of the account's second factor is read from the terminal or from standard input. Whoever has
    none sets it up in the console, on the page Security."""
    asked = usd_of_micros(usd_in(usd))
    code = secret_line("Code of the second factor")
    wish = WithdrawFor(once=str(uuid4()), account=account, usd=usd, payee=payee, code=code, reason=reason)
    return _withdraw(wish, asked)


async def _withdraw(wish: WithdrawFor, usd: str) -> None:
    asked = await perform(ask_withdrawal, wish)
    say(f"request {asked.withdrawal}: {usd} USD asked for")


@partner_app.command("approve")
@command(ValueError)
async def approve(request: Request, reason: Reason) -> None:
    """Approve a withdrawal: it may be paid now."""
    await _decide(request, reason_in(reason), approve_cash)
    say(f"request {request} is approved")


@partner_app.command("pay")
@command(ValueError)
async def pay(request: Request, reference: Annotated[str, typer.Option(help="The transfer's own number.")]) -> None:
    """Note that an approved withdrawal was paid."""
    await _decide(request, reason_in(reference), pay_cash)
    say(f"request {request} is paid")


@partner_app.command("refuse")
@command(ValueError)
async def refuse(request: Request, reason: Reason) -> None:
    """Refuse a withdrawal that was not paid; the cash stays with the account."""
    await _decide(request, reason_in(reason), refuse_cash)
    say(f"request {request} is refused")


@partner_app.command("revoke")
@command(ValueError)
async def revoke(
    reward: Annotated[int, typer.Argument(metavar="REWARD", max=MOST_ID, help="The reward's number.")],
    reason: Reason,
    write_off: WriteOff = False,
) -> None:
    """Take a reward back, by counter-entries."""
    wish = RevokeReward(once=str(uuid4()), reason=reason_in(reason), reward=reward, write_off=write_off)
    done = await perform(revoke_reward, wish)
    if done.was_before:
        say(f"reward {reward} was revoked before")
        return
    taken, owed, let_go = (part.usd for part in (done.taken_back, done.owed, done.written_off))
    say(f"reward {reward} revoked: {taken} USD taken back, {owed} USD owed, {let_go} USD written off")


@command(ValueError)
async def faucet(
    account: AccountId,
    ip: Annotated[str, typer.Option(metavar="IP", help="Where the customer asks from: 192.0.2.7 or 2001:db8::7.")],
    reason: Reason = REASON_HERE,
) -> None:
    """Give an account its free key. It is shown once, now."""
    given = await perform(give_from_faucet, FaucetFor(account=account, ip=ip, reason=reason))
    say(f"key {given.key_id}\n{given.key}")
    say(f"It has {given.amount.usd} USD until {moment(given.expires_at)}. Copy it now: it cannot be shown again.")


async def _decide(request: int, reason: str, act: Act[DecideWish, Changed]) -> None:
    done = await perform(act, DecideWish(once=str(uuid4()), withdrawal=request, reason=reason))
    if not done.changed:
        raise Mistake(UNDECIDED[Decided.DECIDED_BEFORE].format(request))


def _statement_record(found: PartnerView) -> dict[str, Any]:
    names = ("granted", "pending", "available", "paid", "revoked", "requested")
    return {
        **fields_of(found, "gift_code", "invited"),
        "cash": cash_fields(**{name: getattr(found.cash, name).micro_usd for name in names}),
        "rewards": list(map(_reward_record, found.rewards)),
        "withdrawals": list(map(_withdrawal_record, found.withdrawals)),
    }


def _reward_record(reward: RewardView) -> dict[str, Any]:
    amounts = {"amount": reward.amount.units, "full_amount": reward.full_amount.units}
    told = cash_fields(**amounts) if reward.kind is RewardKind.REFERRAL_CASH else quota_fields(**amounts)
    times = ("granted_at", "available_at", "revoked_at", "revoked_by", "why")
    return fields_of(reward, "id", "kind") | {"top_up_id": reward.top_up} | told | fields_of(reward, *times)


def _withdrawal_record(each: WithdrawalView) -> dict[str, Any]:
    asked = {"id": each.id, "account_id": each.account} | fields_of(each, "payee", "state", "requested_at")
    decided = fields_of(each, "approved_at", "approved_by", "approved_why", "decided_at", "decided_by", "reason")
    return asked | cash_fields(amount=each.amount.micro_usd) | decided


def _withdrawal_line(each: WithdrawalView) -> tuple[str, ...]:
    cells = (str(each.id), str(each.account), moment(each.requested_at), each.amount.usd)
    return (*cells, each.payee, _withdrawal_now(each))


def _withdrawal_now(each: WithdrawalView) -> str:
    if each.decided_at is not None:
        return f"{each.state} {moment(each.decided_at)} by {each.decided_by}: {each.reason}"
    if each.approved_at is not None:
        return f"{each.state} {moment(each.approved_at)} by {each.approved_by}: {each.approved_why}"
    return each.state.value


def _reward_line(reward: RewardView) -> tuple[str, ...]:
    amount = reward.amount.usd
    if reward.amount.units < reward.full_amount.units:
        amount += f" (capped, of {reward.full_amount.usd})"
    now = f"withdrawable from {moment(reward.available_at)}" if reward.kind is RewardKind.REFERRAL_CASH else ""
    if reward.revoked_at is not None:
        now = f"revoked {moment(reward.revoked_at)} by {reward.revoked_by}: {reward.why}"
    named = reward.kind.value.replace("_", " ")
    return (str(reward.id), moment(reward.granted_at), named, amount, str(reward.top_up), now)
