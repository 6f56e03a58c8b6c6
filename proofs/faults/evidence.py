"""Evidence: for each call, what its caller heard, what the simulator knows, and what the books say."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from proofs.rig.books import Receipt, Truth, settled_books, truths_of
from proofs.rig.chat import Heard, Order
from proofs.rig.database import connect
from tools.simulator import Simulator

# Some calls are given up before the simulator hears of them.
TOLD_WITHIN_SECONDS = 2.0


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of one call. Each list should have one item."""

    order: Order
    heard: Heard
    receipts: Sequence[Receipt]
    truths: Sequence[Truth]
    entered: int


def gather(
    settings: Mapping[str, str], simulator: Simulator, orders: Sequence[Order], heard: Sequence[Heard]
) -> list[Evidence]:
    """Wait until no call is under way any more, and lay side by side what everybody says."""
    books = settled_books(settings, [order.customer.key_id for order in orders], expected=len(orders))
    booked = {receipt.request_id for own in books.receipts.values() for receipt in own}
    truths = truths_of(simulator, booked, within_seconds=TOLD_WITHIN_SECONDS)
    return [
        Evidence(
            order=order,
            heard=one,
            receipts=(own := books.of(order.customer.key_id)),
            # Where one account after another failed, the last is the one whose answer the caller was given.
            truths=[line for receipt in own for line in truths[receipt.request_id][-1:]],
            entered=books.entered_for(own),
        )
        for order, one in zip(orders, heard, strict=True)
    ]


def unbooked(settings: Mapping[str, str], simulator: Simulator) -> int:
    """How many calls reached the simulator and are in no receipt."""

    async def booked() -> set[str]:
        connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
        try:
            return {row["id"] for row in await connection.fetch("select request_id::text as id from usage")}
        finally:
            await connection.close()

    return len({line["request_id"] for line in simulator.truth()} - asyncio.run(booked()))
