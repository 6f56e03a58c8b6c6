"""The join of what the ledger, the providers and the callers say, call by call.

Rules of this file
1. Lost: an answer that its caller got whole, or that a provider finished and no receipt knows, and that nobody paid.
2. Double: a call that was charged more than once, or more was taken for it than its receipt says.
3. Ghost: a call that was charged and that no provider ever saw. Where its worker was killed between the mark "about to
   be sent" and the socket, nobody can tell: at most its input is charged, and it is counted as unknown.
4. Diff: by how much the books are off, in units of quota, for every answer that its caller got whole.
5. A call in flight when its worker died is settled once, for no more than was held for it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from proofs.faults.fleet.callers import Placed
from proofs.faults.fleet.site import Fleet
from proofs.faults.rows import Tally
from proofs.rig.books import UNDER_WAY, Books, Receipt, Truth, settled_books
from proofs.rig.database import connect, exact_charge
from proofs.rig.patience import came_true_async
from proofs.rig.proof import say

# Each call in flight at a kill is settled within this time.
SETTLED_WITHIN_SECONDS = 60.0
EXAMPLES = 3
OWNER_DIED = "owner_died"
# How the simulator calls it.
FINISHED, REFUSED = "finished", "refused"


def join(fleet: Fleet, placed: Sequence[Placed], *, by_answer: bool = False) -> Tally:
    """Wait until nothing is under way any more, and lay side by side what everybody says.

    `by_answer`: keys were used for several calls each, and what a caller was told says which of them its own is.
    """
    left_open = asyncio.run(_wait_until_closed(fleet))
    key_ids = sorted({one.order.customer.key_id for one in placed})
    books = settled_books(fleet.books, key_ids)
    own = [books.of_answer(one.order.customer.key_id, one.answer.request_id) if by_answer else books for one in placed]
    truths = _truths(fleet)
    tally = Tally(
        calls=len(placed),
        served=sum(one.is_served for one in placed),
        refused=sum(one.is_refused for one in placed),
        cut=sum(one.is_cut for one in placed),
        hung=sum(one.heard.hung for one in placed),
        left_open=left_open,
    )
    wrong = [
        f"{problem}: {one}, {known.of(one.order.customer.key_id)}"
        for one, known in zip(placed, own, strict=True)
        for problem in judge_call(tally, one, known, truths)
    ]
    if by_answer:
        tally.double += _charged_for_nobody(books, placed)
    for example in wrong[:EXAMPLES]:
        say(f"WRONG {example}")
    tally.lost += _unbooked(fleet, truths)
    return tally


def judge_call(tally: Tally, one: Placed, books: Books, truths: Mapping[str, Truth]) -> Iterable[str]:
    """Count one call, and say what is wrong with it."""
    receipts = books.of(one.order.customer.key_id)
    charged = [receipt for receipt in receipts if receipt.charged]
    entered = books.entered_for(receipts)
    tally.attempts += sum(receipt.attempts for receipt in receipts)
    tally.in_flight += sum(receipt.ending == OWNER_DIED for receipt in receipts)
    if one.is_served and not charged:
        tally.lost += 1
        yield "lost"
    if len(charged) > 1 or entered > sum(receipt.charged for receipt in receipts):
        tally.double += 1
        yield "double"
    if any(receipt.charged > receipt.held for receipt in receipts) or (_refuses(one) and charged):
        tally.overcharged += 1
        yield "overcharged"
    unseen = [receipt for receipt in charged if receipt.request_id not in truths]
    ghosts = [receipt for receipt in unseen if not _may_have_been_sent(receipt)]
    tally.ghost += len(ghosts)
    tally.unknown += len(unseen) - len(ghosts)
    yield from ("ghost" for _ in ghosts)
    off = abs(entered - _due(charged, truths)) if one.is_served and not unseen else 0
    tally.diff += off
    yield from [f"off by {off}"] * bool(off)


def _charged_for_nobody(books: Books, placed: Sequence[Placed]) -> int:
    """How many receipts have a charge and are of no call that anybody made."""
    answered = {one.answer.request_id for one in placed}
    everything = [receipt for receipts in books.receipts.values() for receipt in receipts]
    return sum(receipt.charged > 0 and receipt.request_id not in answered for receipt in everything)


def _may_have_been_sent(receipt: Receipt) -> bool:
    return receipt.ending == OWNER_DIED and receipt.charged <= exact_charge(receipt.input_units, 0)


def _due(charged: Sequence[Receipt], truths: Mapping[str, Truth]) -> int:
    seen = [truths[receipt.request_id] for receipt in charged]
    return sum(exact_charge(truth.input_tokens, truth.output_tokens) for truth in seen)


def _refuses(one: Placed) -> bool:
    """Whether a node itself said so. What the balancer says for one that died leaves open whether the call was sent."""
    return one.is_refused and bool(one.answer.request_id)


def _truths(fleet: Fleet) -> Mapping[str, Truth]:
    """By request id: what the provider says that answered last. One that refused may have closed later."""
    lines = [line for simulator in fleet.simulators.values() for line in simulator.truth()]
    found = msgspec.convert(lines, list[Truth])
    return {
        truth.request_id: truth for truth in sorted(found, key=lambda truth: (truth.ending != REFUSED, truth.closed_at))
    }


def _unbooked(fleet: Fleet, truths: Mapping[str, Truth]) -> int:
    """How many answers were finished by a provider and are in no receipt."""

    async def booked() -> set[str]:
        connection = await connect(fleet.pair.url)
        try:
            return {row["id"] for row in await connection.fetch("select request_id::text as id from usage")}
        finally:
            await connection.close()

    finished = {request_id for request_id, truth in truths.items() if truth.ending == FINISHED}
    missing = finished - asyncio.run(booked())
    for request_id in sorted(missing)[:EXAMPLES]:
        say(f"WRONG in no receipt: {truths[request_id]}")
    return len(missing)


async def _wait_until_closed(fleet: Fleet) -> int:
    """How many calls are still under way after the longest time that it may take."""
    connection = await connect(fleet.pair.url)
    left: int = -1

    async def is_closed() -> bool:
        nonlocal left
        left = int(await connection.fetchval(UNDER_WAY))
        return left == 0

    try:
        await came_true_async(is_closed, within_seconds=SETTLED_WITHIN_SECONDS)
    finally:
        await connection.close()
    return left
