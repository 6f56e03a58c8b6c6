"""How a provider account is, in a word, for those who watch the pool."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tollkeeper.core.pool.breaker import Breaker, BreakerState
from tollkeeper.core.pool.health import AccountHealth, Health
from tollkeeper.ports.providers.live import BreakerReport, PoolReport, RoomReport
from tollkeeper.ports.providers.upstream import ProviderAccount

# A report has so many breakers at the most: it is to be small, however badly things are.
BREAKERS_MOST = 500


class AccountState(StrEnum):
    WELL = "well"
    PARTLY = "partly"  # Some of its models are out.
    OUT = "out"
    HELD = "held"  # An operator paused it or lets it drain, or its key was refused.


class AccountStanding(NamedTuple):
    name: str
    state: AccountState
    # Those that it is answering.
    calls: int


def standing_of(
    account: ProviderAccount, health: AccountHealth, at_models: Sequence[Health], now: float
) -> AccountStanding:
    """`at_models`: the health of each of its models that was asked for."""
    models_out = sum(model.breaker.out_until > now for model in at_models)
    if not account.takes_calls:
        state = AccountState.HELD
    elif health.breaker.out_until > now or (models_out and models_out == len(at_models)):
        state = AccountState.OUT
    else:
        state = AccountState.PARTLY if models_out else AccountState.WELL
    return AccountStanding(account.name, state, sum(model.in_flight for model in at_models))


def report_of(
    names: Mapping[int, str],
    accounts: Mapping[int, AccountHealth],
    models: Mapping[str, Mapping[int, Health]],
    now: float,
) -> PoolReport:
    """What a process knows of the accounts with these names. `models`: by model and account, from the first call on."""
    known = [(name, accounts[id_]) for id_, name in names.items() if id_ in accounts]
    breakers = [
        *((name, None, health.breaker) for name, health in known),
        *(
            (names[id_], model, health.breaker)
            for model, healths in models.items()
            for id_, health in healths.items()
            if id_ in names
        ),
    ]
    return PoolReport(breakers=list(_not_closed(breakers, now))[:BREAKERS_MOST], rooms=list(_rooms(known, now)))


def _not_closed(breakers: Iterable[tuple[str, str | None, Breaker]], now: float) -> Iterator[BreakerReport]:
    for account, model, breaker in breakers:
        state = breaker.state(now)
        if state is BreakerState.CLOSED or breaker.trouble is None:
            continue
        seconds = max(0.0, breaker.out_until - now)
        yield BreakerReport(account=account, model=model, state=state, seconds=seconds, trouble=breaker.trouble)


def _rooms(known: Iterable[tuple[str, AccountHealth]], now: float) -> Iterator[RoomReport]:
    for name, health in known:
        used = health.room.used(now)
        if any(used):
            yield RoomReport(account=name, calls=used.calls, requests=used.requests, tokens=used.tokens)
