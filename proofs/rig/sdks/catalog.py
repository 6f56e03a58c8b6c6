"""What is sold in a proof and who serves it, entered as an operator would; and what a call costs, by hand."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from proofs.rig.customers import PROVIDER_KEY
from tools.accounts import without_limits
from tools.node import command, tollkeeper

MICRO_QUOTA = 1_000_000
# In micro-quota: half a million quota are a USD.
QUOTA_PER_MUSD = 500 * MICRO_QUOTA


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to. All parts of the input are in `input_tokens`, those of the output in `output_tokens`."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    written_5m: int = 0
    written_1h: int = 0
    image_input: int = 0
    audio_input: int = 0
    image_output: int = 0
    audio_output: int = 0
    searches: int = 0


OF_INPUT = ("written_5m", "written_1h", "image_input", "audio_input")
OF_OUTPUT = ("image_output", "audio_output")


class LongPrice(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for calls with more input than this."""

    above_tokens: int
    multiplier: Decimal
    completion: Decimal
    cached: Decimal


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model and its price."""

    id: str
    kind: str = "chat"
    multiplier: Decimal
    completion: Decimal = Decimal(1)
    cached: Decimal = Decimal(1)
    # By the name of a part, what it costs in input tokens.
    parts: Mapping[str, Decimal] = {}
    long: LongPrice | None = None
    # Of the vendor's search, in thousandths of a USD.
    search_musd: int = 0

    def options(self) -> Iterator[str]:
        """Its price on the command line."""
        yield f"--kind={self.kind}"
        for name in ("multiplier", "completion", "cached"):
            yield f"--{name}={getattr(self, name)}"
        for part, times in self.parts.items():
            yield f"--{part.replace('_', '-')}={times}"
        if self.long is not None:
            long = self.long
            yield f"--tier={long.above_tokens}={long.multiplier}/{long.completion}/{long.cached}"
        if self.search_musd:
            yield f"--tool=web_search={Decimal(self.search_musd) / 1_000}"

    def charge(self, used: Tokens) -> int:
        """What a call costs in micro-quota, reckoned without the product. Such prices leave nothing to round."""
        price = self.long if self.long is not None and used.input_tokens > self.long.above_tokens else self
        asked, told = [{part: getattr(used, part) for part in each} for each in (OF_INPUT, OF_OUTPUT)]
        weighted = used.input_tokens - used.cached_tokens - sum(asked.values()) + used.cached_tokens * price.cached
        weighted += (used.output_tokens - sum(told.values())) * price.completion
        weighted += sum(units * self.parts.get(part, Decimal(1)) for part, units in asked.items())
        weighted += sum(units * self.parts.get(part, price.completion) for part, units in told.items())
        exact = MICRO_QUOTA * price.multiplier * weighted + used.searches * self.search_musd * QUOTA_PER_MUSD
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
        if not self.names:
            yield "--all-models"
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
