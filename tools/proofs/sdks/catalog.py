"""What is sold in a proof and who serves it, entered as an operator would; and what a call costs, by hand."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from tools.accounts import without_limits
from tools.node import tollkeeper
from tools.proofs.sdks.casting import PROVIDER_KEY
from tools.run import command

MICRO_QUOTA = 1_000_000


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model and its price."""

    id: str
    multiplier: Decimal
    completion: Decimal
    cached: Decimal = Decimal(1)

    def options(self) -> Iterator[str]:
        """Its price on the command line."""
        for name in ("multiplier", "completion", "cached"):
            yield f"--{name}={getattr(self, name)}"

    def charge(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """What a call costs in micro-quota, reckoned without the product. Such prices leave nothing to round."""
        fresh = input_tokens - cached_tokens
        weighted = fresh + cached_tokens * self.cached + output_tokens * self.completion
        exact = MICRO_QUOTA * self.multiplier * weighted
        assert exact == int(exact), self
        return int(exact)


class ProviderAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account at the simulator: the vendor whose protocol is spoken there, and its own names of our models."""

    name: str
    vendor: str = "openai"
    # What follows the simulator's host and port.
    path: str = "/v1"
    names: Mapping[str, str] = {}

    def options(self) -> Iterator[str]:
        """On the command line; without names it serves every model."""
        yield f"--vendor={self.vendor}"
        for ours, theirs in self.names.items():
            yield f"--model={ours}={theirs}"


def furnish(
    settings: Mapping[str, str], upstream: str, models: Sequence[Model], accounts: Sequence[ProviderAccount]
) -> None:
    """A schema without limits, models, and provider accounts at the simulator whose address this is."""
    command(dict(settings), "migrate")
    asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
    for model in models:
        command(dict(settings), "model", "add", model.id, *model.options())
    for account in accounts:
        words = ("provider", "add", account.name, upstream + account.path, *account.options())
        added = tollkeeper(settings, *words, stdin=PROVIDER_KEY)
        assert added.returncode == 0, added.stderr
