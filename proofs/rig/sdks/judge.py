"""Judging: what each player said, against the gateway's call log, the simulator's truth and the books."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from proofs.rig.checks import Check
from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.casting import Part
from proofs.rig.sdks.catalog import Model, ProviderAccount, Tokens


class Said(msgspec.Struct, frozen=True):
    """What a player says of one act, and what it was told of usage, if it was."""

    act: str
    ok: bool
    detail: str
    # Input and output tokens; and how many of them were cached, and thoughts, where the protocol tells those.
    usage: tuple[int, int] | None = None
    parts_of_usage: tuple[int, int | None] | None = None


class Call(msgspec.Struct, frozen=True):
    """One line of the gateway's call log."""

    request_id: str
    status: int
    key_id: int | None = None
    code: str = ""


class Truth(msgspec.Struct, frozen=True):
    """One line of the simulator's truth file."""

    request_id: str
    vendor: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    thinking_tokens: int
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    image_input_tokens: int = 0
    audio_input_tokens: int = 0
    image_output_tokens: int = 0
    audio_output_tokens: int = 0
    tool_uses: int = 0


class Receipt(msgspec.Struct, frozen=True):
    """One row of the usage log."""

    request_id: str
    key_id: int
    input_units: int
    output_units: int
    cached_units: int
    charged: int


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to judge by."""

    said: Mapping[str, Sequence[Said]]
    parts: Sequence[Part]
    models: Mapping[str, Model]
    accounts: Sequence[ProviderAccount]
    calls: Sequence[Call]
    truths: Sequence[Truth]
    receipts: Sequence[Receipt]

    def of(self, part: Part) -> Said | None:
        """What was said of this part, if it was said once."""
        found = [line for line in self.said[part.player] if line.act == part.name]
        return found[0] if len(found) == 1 else None

    def calls_of(self, part: Part) -> list[Call]:
        return [call for call in self.calls if call.key_id == part.key_id]

    def truths_of(self, part: Part) -> list[Truth]:
        sent = {call.request_id for call in self.calls_of(part)}
        return [truth for truth in self.truths if truth.request_id in sent]

    def upstream(self, model_id: str) -> tuple[str, str]:
        """The vendor that serves a model, and its name there."""
        account = next(account for account in self.accounts if model_id in account.names or not account.names)
        return account.vendor, account.names.get(model_id, model_id)


def judge(evidence: Evidence) -> list[Check]:
    return [
        *every_act_went_well(evidence),
        *nothing_was_sent_twice(evidence),
        *usage_was_told(evidence),
        *every_charge_is_right(evidence),
    ]


def every_act_went_well(evidence: Evidence) -> Iterator[Check]:
    """By what the players themselves say."""
    for part in evidence.parts:
        said = evidence.of(part)
        yield Check(named(part), said is not None and said.ok, said.detail if said else "it was not said once")


def nothing_was_sent_twice(evidence: Evidence) -> Iterator[Check]:
    """Each act made its calls to the gateway, with the status expected, and each went upstream once or not at all."""
    tries: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for truth in evidence.truths:
        tries[truth.request_id].append((truth.vendor, truth.model))
    for part in evidence.parts:
        if part.key_id is None:
            continue
        act = part.act
        calls = evidence.calls_of(part)
        answered, sent = [(call.status, call.code) for call in calls], [tries[call.request_id] for call in calls]
        wanted = [evidence.upstream(act.model)] if act.reaches_upstream else []
        holds = answered == [(act.status, act.code)] * act.calls and sent == [wanted] * act.calls
        yield Check(f"{named(part)}: calls", holds, f"answered {answered}, upstream {sent}")
    # A wrong key is nobody's, so its calls are counted together.
    expected = sorted(part.act.status for part in evidence.parts if part.key_id is None)
    statuses = sorted(call.status for call in evidence.calls if call.key_id is None)
    yield Check("wrong keys: one call for each", statuses == expected, f"statuses {statuses}")


def usage_was_told(evidence: Evidence) -> Iterator[Check]:
    """What an SDK was told of usage is the truth, over all calls of its act."""
    for part in evidence.parts:
        if not part.act.tells_usage:
            continue
        said, truths = evidence.of(part), evidence.truths_of(part)
        sums = (sum(truth.input_tokens for truth in truths), sum(truth.output_tokens for truth in truths))
        holds = said is not None and said.usage == sums and sums[0] > 0
        yield Check(f"{named(part)}: usage", holds, f"told {said and said.usage}, in truth {sums}")


def every_charge_is_right(evidence: Evidence) -> Iterator[Check]:
    """Each call upstream has one receipt, with the truth's tokens at the model's price; nothing else has one."""
    truths = {truth.request_id: truth for truth in evidence.truths}
    sent = Counter(truth.request_id for truth in evidence.truths)
    billed = Counter(receipt.request_id for receipt in evidence.receipts)
    yield Check("one receipt for each call upstream", sent == billed, f"unpaid {sent - billed}, unsent {billed - sent}")
    parts = {part.key_id: part for part in evidence.parts}
    for receipt in evidence.receipts:
        part, truth = parts[receipt.key_id], truths.get(receipt.request_id)
        holds = truth is not None and is_right(receipt, truth, part.act, evidence.models[part.act.model])
        yield Check(f"{named(part)}: charge", holds, f"{receipt}, {truth}")


def is_right(receipt: Receipt, truth: Truth, act: Act, model: Model) -> bool:
    if act.is_rejected:
        return receipt.charged == 0
    if receipt.charged != model.charge(used(receipt, truth)):
        return False
    if (receipt.input_units, receipt.cached_units) != (truth.input_tokens, truth.cached_tokens):
        return False
    if act.breaks_off:
        # A reset may swallow what was sent just before it: what arrived is charged, and no more.
        return 0 < receipt.output_units <= truth.output_tokens
    return receipt.output_units == truth.output_tokens


def used(receipt: Receipt, truth: Truth) -> Tokens:
    """What was charged for, with the parts that are true."""
    return Tokens(
        input_tokens=receipt.input_units,
        output_tokens=receipt.output_units,
        cached_tokens=receipt.cached_units,
        written_5m=truth.cache_write_tokens - truth.cache_write_1h_tokens,
        written_1h=truth.cache_write_1h_tokens,
        image_input=truth.image_input_tokens,
        audio_input=truth.audio_input_tokens,
        image_output=truth.image_output_tokens,
        audio_output=truth.audio_output_tokens,
        # None of these orders asks for a search: what is told of one costs nothing.
    )


def named(part: Part) -> str:
    return f"{part.player}: {part.name}"
