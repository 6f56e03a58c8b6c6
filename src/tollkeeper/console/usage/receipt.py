"""The receipt of a call: what, when, how it ended, how it was counted, its attempts, and the formula with numbers.

Rules of this file
1. Another account's call looks like none.
2. Which of our accounts served it and what it cost us is not the customer's to see.
3. Whoever was charged can say that the charge is wrong, once for each call.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.disputes import DisputeRefused, dispute_charge
from tollkeeper.console.figures import number
from tollkeeper.console.pages import get, post
from tollkeeper.console.usage.endings import ATTEMPTS, COUNTED, SHORT, WHOLE
from tollkeeper.console.visit import Visit
from tollkeeper.console.words import marked
from tollkeeper.core.catalog.models import Kind, unit_of
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.parts import Part
from tollkeeper.core.money.price_words import multiplier
from tollkeeper.core.money.prices import MILLIONTHS, Term
from tollkeeper.core.usage.disputes import DISPUTED_WITHIN, DISPUTES_A_DAY, NOTE_CHARACTERS_MOST, DisputeKind
from tollkeeper.core.usage.receipt import Receipt, of_amounts, of_tokens
from tollkeeper.look.figures import quota_tokens
from tollkeeper.ports import NotOnFile, RunningCall
from tollkeeper.ports.disputes import DisputeVerdict

UNITS: Mapping[Kind, str] = {
    Kind.IMAGE: marked("quota tokens for each image"),
    Kind.SPEECH: marked("quota tokens for each character"),
    Kind.TRANSCRIPTION: marked("quota tokens for each second"),
    Kind.EMBEDDING: marked("quota tokens for each input token"),
}
TERMS: Mapping[str, str] = {
    "input": marked("%(count)s input"),
    "cached": marked("%(count)s read from cache × %(factor)s"),
    Part.WRITTEN_5M: marked("%(count)s written to cache for 5 minutes × %(factor)s"),
    Part.WRITTEN_1H: marked("%(count)s written to cache for an hour × %(factor)s"),
    Part.IMAGE_INPUT: marked("%(count)s image input × %(factor)s"),
    Part.AUDIO_INPUT: marked("%(count)s audio input × %(factor)s"),
    "output": marked("%(count)s output × %(factor)s"),
    Part.IMAGE_OUTPUT: marked("%(count)s image output × %(factor)s"),
    Part.AUDIO_OUTPUT: marked("%(count)s audio output × %(factor)s"),
    "call": marked("%(amount)s quota tokens for the call"),
}
WRONGS: Mapping[DisputeKind, str] = {
    DisputeKind.NOTHING_CAME: marked("Nothing came"),
    DisputeKind.CUT_OFF: marked("The answer was cut off"),
    DisputeKind.CHARGED_TWICE: marked("It was charged twice"),
    DisputeKind.TOO_MUCH: marked("It is too much"),
    DisputeKind.OTHER: marked("Something else"),
}
REFUSED: Mapping[DisputeVerdict, str] = {
    DisputeVerdict.UNKNOWN: marked("This call is no longer in the log. Write to support."),
    DisputeVerdict.DISPUTED_BEFORE: marked("You told us of this charge before. What became of it stands below."),
    DisputeVerdict.NOTHING_CHARGED: marked("Nothing was charged for this call."),
    DisputeVerdict.TOO_OLD: marked("We look at charges for %(days)s days. This one is older: write to support."),
    DisputeVerdict.DAY_FULL: marked("You told us of %(most)s charges in 24 hours already. Come again tomorrow."),
}
# Of prices that do not divide, input has a multiplier too.
WEIGHED_INPUT = marked("%(count)s input × %(factor)s")
USES = marked("%(count)s × %(tool)s, %(amount)s quota tokens each")


class AttemptShown(msgspec.Struct, frozen=True, kw_only=True):
    outcome: str
    status: int | None
    seconds: float | None
    first_byte_seconds: float | None


class Formula(msgspec.Struct, frozen=True, kw_only=True):
    """Texts of numbers, as people would write them."""

    group: str
    model: str
    unit: str
    variant: str
    # Where the price is that of long calls: the length.
    above: str
    # What is counted by the price of an input token, and what is added to it as it is.
    tokens: Sequence[str]
    amounts: Sequence[str]
    priced: int
    priced_tokens: str
    is_bounded: bool


async def show(visit: Visit) -> Response:
    found = await _found(visit)
    return (
        visit.page("usage/running.html", call=found) if isinstance(found, RunningCall) else await _shown(visit, found)
    )


async def dispute(visit: Visit) -> Response:
    """Say that the charge is wrong."""
    found = await _found(visit)
    if isinstance(found, RunningCall):
        return visit.page("usage/running.html", call=found)
    kind = next((kind for kind in DisputeKind if kind == visit.form.text("kind")), None)
    if kind is None:
        visit.form.refuse("kind", visit.gettext("Choose what is wrong."))
        return await _shown(visit, found)
    note = visit.form.text("note")
    if len(note) > NOTE_CHARACTERS_MOST:
        visit.form.refuse("note", visit.gettext("A note has at most %(most)s characters.", most=NOTE_CHARACTERS_MOST))
        return await _shown(visit, found)
    try:
        verdict = await dispute_charge(found, kind, note, visit.desks.disputes)
    except DisputeRefused as refusal:
        words = REFUSED[refusal.verdict]
        visit.form.refuse("", visit.gettext(words, days=DISPUTED_WITHIN.days, most=DISPUTES_A_DAY))
        return await _shown(visit, found)
    done = "dispute-credited" if verdict is DisputeVerdict.CREDITED else "dispute-opened"
    return visit.go(f"/usage/{found.request_id}", done=done)


async def _found(visit: Visit) -> Receipt | RunningCall:
    request_id = _request_id(visit.request.path_params["request_id"])
    found = await visit.desks.receipts.find(request_id, account_id=visit.account_id)
    if found is None:
        raise NotOnFile(f"There is no call {request_id}.")
    return found


async def _shown(visit: Visit, found: Receipt) -> Response:
    keys = await visit.desks.keys.of_account(visit.account_id, chat_too=True)
    return visit.page(
        "usage/receipt.html",
        call=found,
        key=next((key for key in keys if key.key_id == found.key_id), None),
        seconds=(found.settled_at - found.started_at).total_seconds(),
        short=SHORT[found.ending],
        whole=WHOLE[found.ending],
        counted=COUNTED[found.usage_source],
        attempts=[_attempt(visit, attempt) for attempt in found.attempts],
        formula=formula_of(visit, found),
        dispute=await visit.desks.disputes.of_call(found.request_id, account_id=visit.account_id),
        may_dispute=found.charged > 0 and visit.desks.now() - found.settled_at < DISPUTED_WITHIN,
        wrongs=WRONGS,
        disputes_a_day=DISPUTES_A_DAY,
        dispute_days=DISPUTED_WITHIN.days,
        note_most=NOTE_CHARACTERS_MOST,
    )


def formula_of(visit: Visit, call: Receipt) -> Formula:
    rate, usage = call.charged_rate, call.usage
    price, priced = rate.price.for_input(usage.input_units), rate.charge(usage)
    return Formula(
        group=multiplier(rate.group),
        model=multiplier(price.model),
        unit=UNITS.get(unit_of(call.kind, price), ""),
        variant=price.variant,
        above=number(call.tier_above, visit.language) if call.tier_above else "",
        tokens=[_term(visit, term) for term in of_tokens(rate.terms(usage))],
        amounts=[_term(visit, term) for term in of_amounts(rate.terms(usage))],
        priced=priced,
        priced_tokens=quota_tokens(priced),
        is_bounded=call.charged < priced,
    )


def _term(visit: Visit, term: Term) -> str:
    weighed = term.name == "input" and term.weight != MILLIONTHS
    return visit.gettext(
        WEIGHED_INPUT if weighed else TERMS.get(term.name, USES),
        count=number(term.units, visit.language),
        factor=multiplier(term.weight),
        amount=quota_tokens(term.amount),
        tool=term.name,
    )


def _attempt(visit: Visit, attempt: Mapping[str, object]) -> AttemptShown:
    outcome, status = str(attempt.get("outcome", "")), attempt.get("status")
    words = ATTEMPTS.get(outcome) or next((SHORT[ending] for ending in Ending if ending == outcome), outcome)
    return AttemptShown(
        outcome=visit.gettext(words) if words else "",
        status=status if isinstance(status, int) else None,
        seconds=_seconds(attempt.get("ms")),
        first_byte_seconds=_seconds(attempt.get("first_byte_ms")),
    )


def _seconds(milliseconds: object) -> float | None:
    return milliseconds / 1_000 if isinstance(milliseconds, int) else None


def _request_id(text: str) -> UUID:
    """Raise NotOnFile."""
    try:
        return UUID(text)
    except ValueError:
        raise NotOnFile("This is no call.") from None


PAGES = (get("/usage/{request_id}", show), post("/usage/{request_id}/dispute", dispute))
