"""How a provider account is, in a word, for those who watch the pool."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from tollkeeper.core.pool.health import AccountHealth, Health
from tollkeeper.ports.providers.upstream import ProviderAccount


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
