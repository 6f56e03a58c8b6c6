"""What is sold to the agents and who serves it: a model of each vendor, at two simulators; what calls cost, by hand."""

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from proofs.agents.evidence import TruthRow
from proofs.rig.customers import PROVIDER_KEY, Customer, a_key, an_account
from tollkeeper.app.office import office
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import command
from tools.simulator import Simulator

MICRO_QUOTA = 1_000_000
USD_EACH = Decimal(100)


class SoldModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model of one vendor, with every part that its price has."""

    id: str
    vendor: str
    theirs: str
    path: str
    multiplier: Decimal
    completion: Decimal
    cached: Decimal
    # None: its price has no such part, and nothing is written.
    written_5m: Decimal | None = None
    written_1h: Decimal | None = None
    # Its input is told with its report alone: of a stream that breaks off, there is only our own count.
    tells_input_last: bool = False
    # What each turn of a task writes into the vendor's cache. What is read from it, the simulators know themselves: the
    # beginnings that this account was sent before.
    writes: Sequence[str] = ()

    def options(self) -> list[str]:
        """Its price on the command line."""
        names = ("multiplier", "completion", "cached", "written_5m", "written_1h")
        told = {name: figure for name in names if (figure := getattr(self, name)) is not None}
        figures = [f"--{name.replace('_', '-')}={figure}" for name, figure in told.items()]
        return [*figures, "--context=400000", "--max-output=64000"]

    def charge(self, truth: TruthRow) -> int:
        """In micro-quota, reckoned without the product. Such prices leave nothing to round."""
        beside = truth.cached_tokens + truth.written_5m + truth.written_1h
        weighted = (
            truth.input_tokens
            - beside
            + truth.cached_tokens * self.cached
            + truth.written_5m * (self.written_5m or 1)
            + truth.written_1h * (self.written_1h or 1)
            + truth.output_tokens * self.completion
        )
        exact = MICRO_QUOTA * self.multiplier * weighted
        assert exact == int(exact), self
        return int(exact)


def a_model(model_id: str, vendor: str, theirs: str, path: str, prices: str, **more: object) -> SoldModel:
    multiplier, completion, cached = map(Decimal, prices.split())
    return msgspec.convert(
        {
            "id": model_id,
            "vendor": vendor,
            "theirs": theirs,
            "path": path,
            "multiplier": multiplier,
            "completion": completion,
            "cached": cached,
            **more,
        },
        SoldModel,
    )


MODELS = (
    a_model(
        *("claude-opus-5", "anthropic", "claude-opus-5-20261101", "", "2.5 5 0.1"),
        written_5m=Decimal("1.25"),
        written_1h=Decimal(2),
        writes=("cache_write=400 cache_write_1h=1000", "cache_write=200"),
    ),
    a_model(
        *("gpt-5", "openai", "gpt-5-2026-08-07", "/v1", "1.25 8 0.1"),
        tells_input_last=True,
    ),
    a_model("gemini-3-pro", "gemini", "gemini-3-pro-latest", "", "1 6 0.2"),
)


def furnish(settings: Mapping[str, str], simulators: Mapping[str, Simulator]) -> None:
    """A schema without limits, the models, and an account of each vendor at each simulator."""
    command(settings, "migrate")
    asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
    for model in MODELS:
        command(settings, "model", "add", model.id, *model.options())
        for tier, (name, simulator) in enumerate(simulators.items(), 1):
            address = simulator.base.removesuffix("/v1") + model.path
            options = (f"--vendor={model.vendor}", f"--model={model.id}={model.theirs}", f"--tier={tier}")
            words = ("provider", "add", f"{model.vendor}-{name}", address, *options)
            command(settings, *words, stdin=PROVIDER_KEY)


def customers(settings: Mapping[str, str], names: Sequence[str]) -> dict[str, Customer]:
    """A customer for each run, so that the books tell their calls apart."""

    async def make() -> dict[str, Customer]:
        async with office(load(settings)) as desk:
            made = {}
            for name in names:
                made[name] = await a_key(desk, await an_account(desk, name, USD_EACH))
            return made

    return asyncio.run(make())
