"""The target of the attacks: a node, its stores, and a malicious provider behind accounts of every vendor."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal

from proofs.attacks.answers import VENDORS
from proofs.rig.customers import ACTOR, Customer, fill_customers
from proofs.rig.deployment import deployment
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.ports import NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node, command
from tools.simulator import Simulator

PROVIDER_KEY = "sk-canary-of-the-provider-8c1f52a9"
# The price that `exact_charge` reckons with.
PRICE = NewPrice(model=Decimal("1.25"), completion=Decimal(4))
# So many that answers which break off do not take all of a vendor's accounts out.
ACCOUNTS_EACH = 40
# A model that few accounts serve, which one customer would like to take out for all.
POISONED = "poisoned"
POISONED_ACCOUNTS = 3


def model_of(vendor: str, *, of_thinker: bool) -> str:
    return f"{vendor}-{'thinker' if of_thinker else 'speaker'}"


class Target:
    def __init__(self, stack: ExitStack, customers: int, chance: random.Random) -> None:
        """Everything it starts is stopped with `stack`."""
        self.settings = deployment(stack) | {"TOLLKEEPER_WORKERS": "2"}
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY, hostile=True))
        command(self.settings, "migrate")
        asyncio.run(without_limits(self.settings["TOLLKEEPER_DATABASE_URL"]))
        asyncio.run(_furnish(self.settings, self.simulator.base))
        self.customers: list[Customer] = asyncio.run(fill_customers(self.settings, customers, chance))
        self.node = stack.enter_context(Node(self.settings))

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """What must be in no answer and in no log."""
        own = (self.settings[name].partition(":")[2] for name in ("TOLLKEEPER_PEPPERS", "TOLLKEEPER_ENVELOPE_KEYS"))
        return tuple(secret.encode() for secret in (PROVIDER_KEY, *own))


async def _furnish(settings: Mapping[str, str], base: str) -> None:
    async with office(load(settings)) as desk:
        await desk.catalog.add_model(NewModel(id=POISONED, kind=Kind.CHAT, price=PRICE), actor=ACTOR)
        for number in range(POISONED_ACCOUNTS):
            await desk.providers.add(_account("openai", f"poisoned-{number}", base, [POISONED]), actor=ACTOR)
        for vendor in VENDORS:
            speaker, thinker = (model_of(vendor, of_thinker=of_thinker) for of_thinker in (False, True))
            await desk.catalog.add_model(NewModel(id=speaker, kind=Kind.CHAT, price=PRICE), actor=ACTOR)
            limits = TokenCaps(hidden_reasoning=True)
            await desk.catalog.add_model(
                NewModel(id=thinker, kind=Kind.CHAT, price=PRICE, token_caps=limits), actor=ACTOR
            )
            for number in range(ACCOUNTS_EACH):
                account = _account(vendor, f"{vendor}-{number}", base, [speaker, thinker])
                await desk.providers.add(account, actor=ACTOR)


def _account(vendor: str, name: str, base: str, models: Sequence[str]) -> NewProviderAccount:
    return NewProviderAccount(
        name=name,
        vendor=vendor,
        base_url=base if vendor == "openai" else base.removesuffix("/v1"),
        secret=PROVIDER_KEY,
        models={model_id: model_id for model_id in models},
    )
