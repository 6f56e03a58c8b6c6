"""F1 to F5: workers killed, nodes renewed, PostgreSQL and Redis in every state but the right one."""

from collections.abc import Sequence
from functools import partial

from proofs.faults.fleet.amounts import Amounts
from proofs.faults.fleet.expect import (
    NODE_LOST,
    all_served,
    back_within,
    failed_at_most,
    memory_within,
    no_stream_is_cut,
    nothing_said,
    refused_only_with,
    refused_within,
    served_share,
)
from proofs.faults.fleet.limited import Limited
from proofs.faults.fleet.patroni_pair import PatroniPair
from proofs.faults.fleet.scenario import Act, Fault, Scenario, by_balancer, past_the_balancer
from proofs.faults.fleet.site import Fleet

STORE_AWAY = "store_unavailable"
# Longer than the lease of a leader.
CUT_OFF_SECONDS = 40.0


def killed_workers(amounts: Amounts) -> list[Scenario]:
    killed = Fault(name="a worker is killed", act=Fleet.kill_worker, after_calls=amounts.kill_calls)
    # What a worker has in hand at such a rate, with streams of three seconds.
    in_hand = 20 + int(amounts.kill_load.per_second)
    return [
        Scenario(
            number=1,
            name="kill -9 of workers",
            load=amounts.kill_load,
            faults=[killed] * amounts.kills,
            calls_after=amounts.kill_calls,
            expects=[refused_only_with(NODE_LOST), failed_at_most(in_hand), back_within(10)],
        )
    ]


def rolling_restarts(amounts: Amounts) -> list[Scenario]:
    """Behind the balancer by SIGTERM; without one by SIGHUP, which renews the workers beside the old ones.

    Nobody waits for the calls of a node that leaves: in full size, some go on for ten minutes and many restarts.
    """

    def turn(name: str, act: Act) -> Fault:
        return Fault(name=name, act=act, after_calls=amounts.restart_calls)

    restarts = [turn(f"node {place + 1} restarts", partial(Fleet.restart, place=place)) for place in (0, 1)]
    renewals = [turn(f"node {place + 1} is renewed", partial(Fleet.renew, place=place)) for place in (0, 1)]
    return [
        Scenario(
            number=2,
            name=name,
            load=amounts.restart_load,
            faults=faults * amounts.turns,
            calls_after=amounts.restart_calls,
            seconds_most=amounts.restart_seconds_most,
            expects=[all_served, nothing_said],
            ports=ports,
            afterwards=Fleet.wait_for_leaving,
        )
        for name, faults, ports in (
            ("rolling restarts", restarts, by_balancer),
            ("renewals without a balancer", renewals, past_the_balancer),
        )
    ]


def database_lost(amounts: Amounts) -> list[Scenario]:
    crash = [
        Fault(name="PostgreSQL crashes", act=lambda fleet: fleet.pair.crash(), after_calls=amounts.calls),
        Fault(name="(followed again)", act=lambda fleet: fleet.pair.wait_until_followed(), after_calls=0),
    ]
    failover = [
        Fault(name="the standby takes over", act=lambda fleet: fleet.pair.fail_over(), after_calls=amounts.calls),
        Fault(name="(a new standby)", act=lambda fleet: fleet.pair.follow(), after_calls=amounts.calls),
    ]
    return [
        Scenario(
            number=3,
            name="PostgreSQL crashed, failed over",
            load=amounts.load,
            faults=(crash + failover) * amounts.crashes,
            calls_after=amounts.calls,
            expects=[no_stream_is_cut, refused_only_with(STORE_AWAY), back_within(30)],
        )
    ]


def leader_cut_off(pair: PatroniPair, amounts: Amounts) -> Scenario:
    """Its packets are lost, and nobody says so. It leads until its lease has run out, but has nobody who follows it."""
    cut = Fault(
        name="the leader's host is cut off",
        act=lambda _: pair.cut_leader_off(CUT_OFF_SECONDS),
        after_calls=amounts.calls,
    )
    return Scenario(
        number=3,
        name="the leader of PostgreSQL cut off",
        load=amounts.load,
        faults=[cut],
        calls_after=amounts.calls,
        expects=[no_stream_is_cut, refused_only_with(STORE_AWAY), back_within(30)],
    )


def database_silent(amounts: Amounts) -> list[Scenario]:
    seconds = amounts.silent_seconds
    return [
        Scenario(
            number=4,
            name="PostgreSQL frozen, connections exhausted",
            load=amounts.load,
            faults=[
                Fault(
                    name="PostgreSQL is frozen",
                    act=lambda fleet: fleet.pair.freeze(seconds),
                    after_calls=amounts.calls,
                    lasts=True,
                ),
                Fault(
                    name="others take all connections",
                    act=lambda fleet: None if fleet.pair.exhaust(seconds) else "nothing was taken",
                    after_calls=2 * amounts.calls,
                    lasts=True,
                ),
            ],
            calls_after=2 * amounts.calls,
            expects=[
                *(no_stream_is_cut, refused_only_with(STORE_AWAY), nothing_said),
                *(refused_within(5), memory_within(100), back_within(10)),
            ],
        )
    ]


def redis_lost(amounts: Amounts) -> list[Scenario]:
    """Whoever has a limit, and whoever is banned, tries all the while."""
    limited = Limited()
    seconds = amounts.silent_seconds

    def fault(name: str, act: Act) -> Sequence[Fault]:
        return [
            Fault(name=name, act=act, after_calls=amounts.calls),
            Fault(name="(who is banned tries)", act=limited.banned_are_refused, after_calls=amounts.calls // 2),
        ]

    return [
        Scenario(
            number=5,
            name="Redis cut off, flushed, full, frozen, killed",
            load=amounts.load,
            faults=[
                Fault(name="(somebody is banned, somebody limited)", act=limited.begin, after_calls=0),
                *fault("the host of Redis is cut off", partial(Fleet.cut_redis_off, seconds=seconds)),
                *fault("Redis is flushed", partial(_ask, command=("FLUSHALL",))),
                *fault("Redis is full", partial(_ask, command=("CONFIG", "SET", "maxmemory", "1"))),
                *fault("Redis has room", partial(_ask, command=("CONFIG", "SET", "maxmemory", "0"))),
                *fault("Redis is read-only", partial(_ask, command=("CONFIG", "SET", "min-replicas-to-write", "9"))),
                *fault("Redis takes writes", partial(_ask, command=("CONFIG", "SET", "min-replicas-to-write", "0"))),
                *fault("Redis is frozen", partial(Fleet.freeze_redis, seconds=seconds)),
                *fault("Redis is killed", partial(Fleet.fail_redis_over)),
                Fault(name="(who is limited is done)", act=limited.end, after_calls=0),
            ],
            calls_after=amounts.calls,
            expects=[served_share(0.999), nothing_said],
        )
    ]


def _ask(fleet: Fleet, *, command: Sequence[str]) -> None:
    fleet.master.ask(*command)
