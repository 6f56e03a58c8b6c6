"""The ground: a model at every vendor and of every kind, many provider accounts, and customers, rich, poor and wary."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from decimal import Decimal

import msgspec

from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app import VENDORS, Office, office
from tollkeeper.core.catalog import Kind
from tollkeeper.core.money import quota_from_usd
from tollkeeper.ports import Credit, NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import with_limits
from tools.node import tollkeeper
from tools.proofs.sdks.casting import an_account
from tools.run import command

PROVIDER_KEY = "sk-simulated"
# So many that calls which fail on purpose do not take them all out.
ACCOUNTS_OF_VENDOR = 40
ACTOR = "proof"
# More than are made; a limit all the same, so that calls are counted in Redis.
CALLS_A_MINUTE = 1_000_000
THEIRS = {"openai": "gpt-9", "azure": "our-deployment", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}
MEDIA = {
    Kind.IMAGE: NewPrice(model=Decimal(20_000), variant="1024x1024"),
    Kind.SPEECH: NewPrice(model=Decimal("7.5")),
    Kind.TRANSCRIPTION: NewPrice(model=Decimal(50)),
}
RICH_USD, POOR_USD = Decimal(10_000), Decimal("0.02")


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls what."""

    # By vendor and, of media, by kind.
    models: Mapping[str, str]
    account_id: int
    key: str
    poor_account_id: int
    poor_key: str


def furnish(settings: Mapping[str, str], upstream: str, control: Callable[[str], str]) -> Ground:
    """Names and the address of mails are controls: they are to be found where those are shown."""
    command(dict(settings), "migrate")
    asyncio.run(with_limits(settings["TOLLKEEPER_DATABASE_URL"], CALLS_A_MINUTE))
    address = f"{control('mails')}@example.com"
    command(dict(settings), "login", "sign-up", address)
    # Whose quota runs low, and who is told so by mail.
    opened = tollkeeper(settings, "login", "open", f"poor-{address}", stdin=f"{secrets.token_hex()}\n")
    assert opened.returncode == 0, opened.stderr
    return asyncio.run(_furnish(settings, upstream, control, poor=int(opened.stdout.split()[-1])))


async def _furnish(settings: Mapping[str, str], upstream: str, control: Callable[[str], str], *, poor: int) -> Ground:
    async with office(load(dict(settings))) as desk:
        models = await _models(desk, upstream, suffix=control("pages"))
        rich = await an_account(desk, "rich", RICH_USD)
        credit = Credit(account_id=poor, amount=quota_from_usd(POOR_USD), source="operator", source_id="poor", months=9)
        await desk.accounts.credit(credit, actor=ACTOR)
        keys = [
            (
                await create_key(
                    KeyWish(account_id=each, name=control("commands")), desk.key_maker, desk.keys, actor=ACTOR
                )
            ).key
            for each in (rich, poor)
        ]
    return Ground(models=models, account_id=rich, key=keys[0], poor_account_id=poor, poor_key=keys[1])


async def _models(desk: Office, upstream: str, *, suffix: str) -> dict[str, str]:
    kinds = {**dict.fromkeys(VENDORS, Kind.CHAT), **{kind.value: kind for kind in MEDIA}}
    models = {name: f"{name}-{suffix}" for name in kinds}
    for vendor in VENDORS:
        served = {models[vendor]: THEIRS[vendor]}
        if vendor == "openai":
            served |= {models[kind.value]: models[kind.value] for kind in MEDIA}
        for number in range(ACCOUNTS_OF_VENDOR):
            account = NewProviderAccount(
                name=f"{vendor}-{number}",
                vendor=vendor,
                base_url=upstream if vendor == "openai" else upstream.removesuffix("/v1"),
                secret=PROVIDER_KEY,
                models=served,
            )
            await desk.providers.add(account, actor=ACTOR)
    for name, kind in kinds.items():
        price = MEDIA.get(kind, NewPrice(model=Decimal(1), completion=Decimal(4)))
        await desk.catalog.add_model(NewModel(id=models[name], kind=kind, price=price), actor=ACTOR)
    return models
