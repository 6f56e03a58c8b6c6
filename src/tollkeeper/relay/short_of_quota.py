"""Why quota was not reserved, in words that say what was short and what helps."""

from collections.abc import Mapping

from tollkeeper.core.errors import (
    AccountInDebt,
    AccountShort,
    GatewayError,
    InsufficientQuota,
    KeyBudgetExceeded,
    KeyShort,
    KeyUnknown,
    WorkerFenced,
)
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.money.prices import Rate
from tollkeeper.core.money.quote import Ask, TokenCaps, most_output_tokens
from tollkeeper.ports import HoldOutcome, HoldVerdict, KeyBudget
from tollkeeper.relay.payment import made_before

SHORT: Mapping[HoldOutcome, type[InsufficientQuota]] = {
    HoldOutcome.ACCOUNT_SHORT: AccountShort,
    HoldOutcome.KEY_SHORT: KeyShort,
    HoldOutcome.BUDGET: KeyBudgetExceeded,
    HoldOutcome.DEBT: AccountInDebt,
}
HAS = {
    AccountShort: "The account has {available} USD",
    KeyShort: "This key has {available} USD left of its own quota",
    KeyBudgetExceeded: "This key has {available} USD left of its {budget} budget",
    AccountInDebt: "The account owes {available} USD and takes no new calls until that is paid",
}


def refusal_of(verdict: HoldVerdict, need: str) -> GatewayError:
    """`need`: what the call, or its answer, would have needed."""
    if (repeated := made_before(verdict)) is not None:
        return repeated
    refusal = SHORT.get(verdict.outcome)
    if refusal is None:
        return KeyUnknown() if verdict.outcome is HoldOutcome.UNKNOWN_KEY else WorkerFenced()
    period = "daily or monthly" if verdict.budget is None else verdict.budget.period
    has = HAS[refusal].format(available=usd_exact(verdict.available), budget=period)
    return refusal(f"{has}; {need}. {_what_helps(refusal, verdict.budget)}")


def what_would_fit(verdict: HoldVerdict, ask: Ask, caps: TokenCaps, rate: Rate) -> str:
    """The largest answer that could be asked for, where there is one."""
    fits = most_output_tokens(verdict.available, ask, rate)
    # Images have no such maximum.
    is_of_images = ask.measured or ask.likely_output_tokens is not None
    if not fits or is_of_images or verdict.outcome is HoldOutcome.DEBT:
        return ""
    return f" (with max_tokens of {min(fits, caps.max_output_tokens)} or less it would fit)"


def _what_helps(refusal: type[InsufficientQuota], budget: KeyBudget | None) -> str:
    """A key's own quota and budgets are for its owner to raise: money does not help there."""
    if refusal is KeyShort:
        return "Sending it again will not help: raise the key's quota in the console, or ask for less."
    if refusal is AccountInDebt:
        # What is owed does not become less by what is asked.
        return "Sending it again will not help: top up."
    if refusal is not KeyBudgetExceeded:
        return "Sending it again will not help: top up or ask for less."
    when = "the next day or month begins (UTC)" if budget is None else f"{budget.renews_on}, 00:00 UTC"
    return f"Sending it again will not help before {when}: raise the budget in the console, or ask for less."
