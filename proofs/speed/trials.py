"""Trials: what is asked of the bare proxy, the gateway and others, and what their rounds tell."""

from concurrent.futures import ThreadPoolExecutor

import msgspec

from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.measuring.measured_orders import further, streamed, whole
from proofs.rig.proof import say
from proofs.speed.contestants import Subject
from proofs.speed.rounds import WARM_SECONDS, Demand, Length, Rounds, Turns
from proofs.speed.stages import profiled

# What a call costs beside the gateway: load and simulator are not part of an operator's bill.
STORES = ("postgres", "redis")
PROVIDER_MS = 20
BIG_PROMPT_BYTES = 100_000
BIG_CONNECTIONS = 16
# A stream outlasts its turn by this much, so that all of them speak while it is measured.
SPARE_SECONDS = 1.0


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Of a call, where every connection asks again at once."""

    cpu_us: dict[str, float]
    ratio: float
    total_us: float
    # Of the gateway; a quarter of it is a modest load.
    per_second: float
    beside_us: dict[str, float]


class Added(msgspec.Struct, frozen=True):
    """What the gateway adds to what the bare proxy takes."""

    p50: float
    p99: float


class Chunks(msgspec.Struct, frozen=True, kw_only=True):
    """What an event of a stream costs each subject, and how much later than by the bare proxy it comes."""

    event_us: dict[str, float]
    added_us: Added


class PeerCosts(msgspec.Struct, frozen=True):
    """What a call costs another gateway, and how many times what it costs us."""

    cpu_us: float
    times: float


def at_full_speed(rounds: Rounds, length: Length) -> Costs:
    stage = rounds.stage
    turns = rounds.run([stage.bare, stage.full, stage.nginx], length, Demand(order=whole()))
    return Costs(
        cpu_us={name: turns.cpu_us(name) for name in ("bare", "full", "nginx")},
        ratio=turns.ratio("bare", "full"),
        total_us=turns.cpu_us("full", *STORES),
        per_second=turns.median(lambda turn: turn["full"].per_second),
        beside_us={name: turns.beside_us("full", name) for name in stage.beside},
    )


def added_ms(rounds: Rounds, length: Length, *, per_second: float) -> Added:
    """To the time of a call, at the same rate before a provider that takes a while."""
    demand = Demand(order=whole(delay_ms=PROVIDER_MS), per_second=per_second)
    turns = _bare_and_full(rounds, length, demand)
    return Added(
        turns.median(lambda turn: turn["full"].p50_ms - turn["bare"].p50_ms),
        turns.median(lambda turn: turn["full"].p99_ms - turn["bare"].p99_ms),
    )


def chunks(rounds: Rounds, length: Length, *, streams: int, chunk_ms: int) -> Chunks:
    """Of streams that speak all the time. The simulator's clock ticks once a millisecond, so that some of them speak
    together: a chunk is also late because of those before it."""
    count = round((WARM_SECONDS + length.seconds + SPARE_SECONDS) * 1_000 / chunk_ms)
    demand = Demand(
        order=streamed(count, chunk_ms=chunk_ms), connections=streams, begin_within_seconds=WARM_SECONDS / 2
    )
    turns = _bare_and_full(rounds, length, demand)
    alone = turns.median(lambda turn: turn["full"].first_events / turn["full"].events)
    say(f"{alone:.1%} of the events came alone")
    return Chunks(
        event_us={name: turns.event_us(name) for name in ("bare", "full")},
        added_us=Added(
            turns.median(lambda turn: turn["full"].late_p50_us - turn["bare"].late_p50_us),
            turns.median(lambda turn: turn["full"].late_p99_us - turn["bare"].late_p99_us),
        ),
    )


def stage_shares(rounds: Rounds, seconds: float) -> dict[str, dict[str, float]]:
    """Of what a call costs the bare proxy and the gateway: the share of each stage, while they are at full speed."""
    found = {}
    for subject in (rounds.stage.bare, rounds.stage.full):
        with ThreadPoolExecutor(1) as load:
            turn = load.submit(rounds.run, [subject], Length(1, seconds + SPARE_SECONDS), Demand(order=whole()))
            found[subject.name] = profiled(subject.pid, seconds)
            turn.result()
    return found


def big_ratio(rounds: Rounds, length: Length) -> float:
    """Bare to full where prompts are long, and nobody has sent them before."""
    demand = Demand(order=whole(prompt_bytes=BIG_PROMPT_BYTES), connections=BIG_CONNECTIONS)
    return _bare_and_full(rounds, length, demand).ratio("bare", "full")


def further_ratio(rounds: Rounds, length: Length) -> float:
    """Bare to full where prompts are as long, and only their last message is new."""
    demand = Demand(order=further(history_bytes=BIG_PROMPT_BYTES), connections=BIG_CONNECTIONS)
    return _bare_and_full(rounds, length, demand).ratio("bare", "full")


def several_workers(rounds: Rounds, length: Length, several: Subject) -> float:
    """What a call costs a node of several workers, to what it costs one of one worker."""
    turns = rounds.run([rounds.stage.full, several], length, Demand(order=whole()))
    with_stores = turns.ratio(several.name, "full", *STORES)
    say(f"with PostgreSQL and Redis: {with_stores:.2f} times as much as one worker")
    return turns.ratio(several.name, "full")


def beside_peer(rounds: Rounds, length: Length, peer: Subject) -> PeerCosts:
    """What a call costs another gateway, and the same call us, in turns."""
    # Their callers have the provider's key: some pass it on, and the others take any.
    demands = ((peer, Demand(order=whole(), keys=[PROVIDER_KEY])), (rounds.stage.full, Demand(order=whole())))
    turns = Turns([rounds.once(demands, length.seconds) for _ in range(length.rounds)])
    return PeerCosts(turns.cpu_us(peer.name), turns.ratio(peer.name, rounds.stage.full.name))


def _bare_and_full(rounds: Rounds, length: Length, demand: Demand) -> Turns:
    return rounds.run([rounds.stage.bare, rounds.stage.full], length, demand)
