"""Evidence: what the simulators know of each call, what the books say of it, and whether the two agree."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

import asyncpg
import msgspec

from proofs.pool.steady_callers import Placed
from proofs.rig.books import entered
from proofs.rig.database import connect, exact_charge
from proofs.rig.patience import came_true_async
from tools.simulator import Simulator

SETTLED_WITHIN_SECONDS = 15.0
SILENT = "silent"

RECEIPTS = "select request_id::text, ending, charged, attempts from usage where request_id = any($1::uuid[])"


class Try(msgspec.Struct, frozen=True):
    """One line of a simulator's truth file: a call as it arrived at one account."""

    account: str
    request_id: str
    received_at: float
    status: int
    ending: str
    input_tokens: int
    output_tokens: int

    @property
    def went_well(self) -> bool:
        return self.status == 200 and self.ending == "finished"


class Attempt(msgspec.Struct, frozen=True):
    """An attempt as a receipt tells it."""

    account: str
    outcome: str
    status: int | None = None


class Receipt(msgspec.Struct, frozen=True):
    request_id: str
    ending: str
    charged: int
    attempts: list[Attempt]
    # What was really taken from lots for it.
    entered: int = 0


def simulator_of(account: str) -> str:
    """The accounts of incidents are at one simulator, whose name theirs begin with."""
    return account.partition("-")[0]


def tries_at(simulators: Mapping[str, Simulator], *, since: float = 0.0) -> list[Try]:
    """Everything that has arrived anywhere and is over."""
    lines = [
        line | {"account": name}
        for name, simulator in simulators.items()
        for line in simulator.truth()
        if line["received_at"] >= since
    ]
    return msgspec.convert(lines, list[Try])


async def receipts_of(settings: Mapping[str, str], placed: Sequence[Placed]) -> dict[str, Receipt]:
    """By request id, once every call has one; what is missing then is judged, call by call."""
    request_ids = {one.request_id for one in placed if one.request_id}
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    found: dict[str, Receipt] = {}

    async def all_there() -> bool:
        found.update(await _read(connection, request_ids - found.keys()))
        return found.keys() >= request_ids

    try:
        await came_true_async(all_there, within_seconds=SETTLED_WITHIN_SECONDS)
    finally:
        await connection.close()
    return found


async def _read(connection: asyncpg.Connection, request_ids: Set[str]) -> dict[str, Receipt]:
    charges = await entered(connection, request_ids)
    return {
        row["request_id"]: Receipt(
            row["request_id"],
            row["ending"],
            row["charged"],
            msgspec.json.decode(row["attempts"], type=list[Attempt]),
            charges.get(row["request_id"], 0),
        )
        for row in await connection.fetch(RECEIPTS, request_ids)
    }


def disagreements(
    placed: Sequence[Placed], receipts: Mapping[str, Receipt], tries: Sequence[Try]
) -> Iterator[tuple[str, str]]:
    """What is wrong with the books of calls: the call, and what is wrong."""
    arrived = defaultdict(list)
    for one in tries:
        arrived[one.request_id].append(one)
    for call in placed:
        receipt = receipts.get(call.request_id)
        if receipt is None:
            yield call.request_id, f"no receipt; heard {call.heard}"
            continue
        for problem in _problems(call, receipt, arrived[call.request_id]):
            yield call.request_id, f"{problem}: {receipt}, {arrived[call.request_id]}"


def _problems(call: Placed, receipt: Receipt, arrived: Sequence[Try]) -> Iterator[str]:
    tried = [simulator_of(attempt.account) for attempt in receipt.attempts]
    # Whoever was given up as silent may have answered whole, too late for anybody: that is our cost.
    late = {simulator_of(attempt.account) for attempt in receipt.attempts if attempt.outcome == SILENT}
    finished = [one for one in arrived if one.went_well and one.account not in late]
    due = sum(exact_charge(one.input_tokens, one.output_tokens) for one in finished)
    if len(finished) != call.went_well:
        yield f"{len(finished)} accounts answered whole, and the caller heard {call.heard.answer}"
    if not receipt.charged == receipt.entered == due:
        yield f"{due} are due"
    if len(tried) > len(set(tried)):
        yield "an account was tried twice"
    # Whoever was given up before it read the call has no line of it.
    if not set(tried) - late <= {one.account for one in arrived} <= set(tried):
        yield "the receipt's attempts are not those that arrived"
