"""Receipts: everything about a finished call that its owner may want to know, and nothing of what was said in it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollkeeper.core.catalog import Kind
from tollkeeper.core.charge import Ending, UsageSource
from tollkeeper.core.money import Quota, quota_text, usd_exact
from tollkeeper.core.prices import MILLIONTHS, Rate, Usage


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
    def formula(self) -> str:
        """How the charge came about, so that anybody can check it."""
        price, usage = self.rate.price, self.usage
        priced = self.rate.charge(usage)
        bounded = f", at most the {quota_text(self.held)} held" if self.charged < priced else ""
        if self.kind is not Kind.CHAT:
            unit, name = UNITS[self.kind], f" ({price.variant})" if price.variant else ""
            each = f"{multiplier(self.rate.group)} group × {multiplier(price.model)} quota for each {unit}{name}"
            return f"{each} × {usage.input_tokens} = {quota_text(priced)} quota{bounded}"
        terms = [f"{usage.input_tokens - usage.cached_tokens} input"]
        if usage.cached_tokens:
            terms.append(f"{usage.cached_tokens} cached × {multiplier(price.cached)}")
        terms.append(f"{usage.output_tokens} output × {multiplier(price.completion)}")
        factors = f"{multiplier(self.rate.group)} group × {multiplier(price.model)} model"
        return f"{factors} × ({' + '.join(terms)}) = {quota_text(priced)} quota{bounded}"

    @property
    def explanation(self) -> str:
        return f"{ENDINGS[self.ending]} {SOURCES[self.usage_source]}"

    @property
    def charged_usd(self) -> str:
        return usd_exact(self.charged)


# What is counted of each kind.
UNITS = {Kind.IMAGE: "image", Kind.SPEECH: "character", Kind.TRANSCRIPTION: "second"}
ENDINGS = {
    Ending.COMPLETED: "The answer was delivered whole.",
    Ending.UPSTREAM_BROKE: "The provider broke off in the middle; what was delivered until then is charged.",
    Ending.CLIENT_LEFT: "The caller hung up before the end.",
    Ending.CUT: "The call was cut at the main address's time limit and went on without its caller.",
    Ending.REVOKED: "Its key was revoked, or its account disabled, while the answer was on its way, which ended there.",
    Ending.TIME_LIMIT: "The call ran for as long as a call may, and was ended.",
    Ending.QUOTA_RAN_OUT: "The quota ran out in the middle of the answer.",
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


def multiplier(millionths: int) -> str:
    """`1250000` → `1.25`."""
    whole, rest = divmod(millionths, MILLIONTHS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
