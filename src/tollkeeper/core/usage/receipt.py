"""Receipts: everything about a finished call that its owner may want to know, and nothing of what was said in it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.money.amounts import Quota, quota_text, usd_exact
from tollkeeper.core.money.charge import CHARGED, Charged, Ending, UsageSource
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.price_words import PART_WORDS, above, multiplier
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Term, Usage


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    request_id: UUID
    account_id: int
    key_id: int
    kind: Kind = Kind.CHAT
    rate: Rate
    usage: Usage
    usage_source: UsageSource
    ending: Ending
    held: Quota
    charged: Quota
    attempts: Sequence[Mapping[str, object]]
    started_at: datetime
    settled_at: datetime

    @property
    def charged_rate(self) -> Rate:
        """The rate of the charge. A call that was charged nothing is not charged the amount per call either."""
        if self.usage_source is not UsageSource.NONE or self.rate.price.parts is None:
            return self.rate
        own = self.rate.price.parts.input
        parts = None if own is None else PriceParts(input=own)
        return Rate(msgspec.structs.replace(self.rate.price, parts=parts), self.rate.group)

    @property
    def formula(self) -> str:
        """How the charge came about, so that anybody can check it."""
        rate, usage = self.charged_rate, self.usage
        priced = rate.charge(usage)
        bounded = f", at most {self._bound}" if self.charged < priced else ""
        total = f"{quota_text(priced)} quota tokens{bounded} = {usd_exact(self.charged)} USD"
        tokens, amounts = of_tokens(rate.terms(usage)), of_amounts(rate.terms(usage))
        told = self._weighed(rate.price.for_input(usage.input_units), tokens)
        if amounts:
            added = [f"{term.units} {TERMS.get(term.name, term.name)} × {quota_text(term.amount)}" for term in amounts]
            told = f"({' + '.join([told, *added])})"
        return f"{multiplier(rate.group)} group × {told} = {total}"

    def _weighed(self, price: Price, tokens: Sequence[Term]) -> str:
        unit = unit_of(self.kind, price)
        if unit in UNITS:
            name = f" ({price.variant})" if price.variant else ""
            each = f"{multiplier(price.model)} quota tokens for each {UNITS[unit]}{name}"
            return f"{each} × {self.usage.input_units}"
        tier = self.tier_above
        model = f"{multiplier(price.model)} model{f' ({above(tier)})' if tier else ''}"
        return f"{model} × ({' + '.join(map(_term, tokens))})"

    @property
    def tier_above(self) -> int:
        """The length of input above which its price held; 0 for that of any call."""
        parts = self.charged_rate.price.parts
        tier = None if parts is None else parts.tier(self.usage.input_units)
        return 0 if tier is None else tier.above_tokens

    @property
    def _bound(self) -> str:
        """What kept the charge from being what the usage costs."""
        if CHARGED[self.ending] is Charged.AT_MOST_WHAT_IS_HELD:
            return f"the {quota_text(self.held)} held"
        return f"the {quota_text(self.charged)} that the caller allowed"

    @property
    def written_off(self) -> Quota:
        """What its usage costs beyond what was charged."""
        priced = self.charged_rate.charge(self.usage) if self.ending is not Ending.REFUSED else self.charged
        return Quota(max(0, priced - self.charged))

    @property
    def explanation(self) -> str:
        return f"{ENDINGS[self.ending]} {SOURCES[self.usage_source]}"

    @property
    def charged_usd(self) -> str:
        return usd_exact(self.charged)


# What is counted of each kind.
UNITS = {
    Kind.IMAGE: "image",
    Kind.SPEECH: "character",
    Kind.TRANSCRIPTION: "second",
    Kind.EMBEDDING: "input token",
}
ENDINGS = {
    Ending.COMPLETED: "The answer was delivered whole.",
    Ending.UPSTREAM_BROKE: "The provider broke off in the middle; what was delivered until then is charged.",
    Ending.CLIENT_LEFT: "The caller hung up before the end.",
    Ending.CUT: "The call was cut at the main address's time limit and went on without its caller.",
    Ending.REVOKED: "Its key was revoked, or its account disabled, while the answer was on its way, which ended there.",
    Ending.TIME_LIMIT: "The call ran for as long as a call may, and was ended.",
    Ending.QUOTA_RAN_OUT: "The quota ran out in the middle of the answer.",
    Ending.MAX_CHARGE: "The answer was ended at what the caller allowed it to cost (x-max-charge-usd).",
    Ending.NODE_STOPPED: "The node that served the call was stopped before the answer's end.",
    Ending.REFUSED: "No answer was delivered, so nothing is charged.",
    Ending.OWNER_DIED: "The process that served the call died; it was settled from what was known.",
}
SOURCES = {
    UsageSource.PROVIDER: "The provider reported its usage.",
    UsageSource.COUNTED: "Input and output were counted by us, because the provider reported no usage.",
    UsageSource.COUNTED_INPUT: "Only the input is charged, as counted by us: no output was seen.",
    UsageSource.MEASURED: "Images, characters or seconds were counted by us.",
    UsageSource.JOURNAL: "The usage is from the process's journal.",
    UsageSource.CHECKPOINT: "The usage is from the call's last checkpoint.",
    UsageSource.NONE: "",
}
# Lines of a formula, in words. A vendor's tool is told by its name.
TERMS: Mapping[str, str] = {"input": "input", "cached": "cached", "output": "output", "call": "call", **PART_WORDS}


def of_tokens(terms: Iterable[Term]) -> list[Term]:
    """Lines that count by the model's multiplier."""
    return [term for term in terms if term.name in TERMS and term.name != "call"]


def of_amounts(terms: Iterable[Term]) -> list[Term]:
    """Lines that are amounts of their own: the call, and the uses of tools."""
    return [term for term in terms if term.name not in TERMS or term.name == "call"]


def _term(term: Term) -> str:
    told = f"{term.units} {TERMS[term.name]}"
    return told if term.name == "input" and term.weight == MILLIONTHS else f"{told} × {multiplier(term.weight)}"
