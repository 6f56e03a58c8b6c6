"""Whom calls with canaries are made to and by: models of every vendor and kind, and customers, rich and poor."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from decimal import Decimal

import msgspec

from proofs.rig.customers import ACTOR, PROVIDER_KEY, a_key
from tollkeeper.app.office import office
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.office.desks import Office
from tollkeeper.ports import Credit, NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import with_limits
from tools.node import command

# So many that calls which fail on purpose do not take them all out.
ACCOUNTS_OF_VENDOR = 40
# More than are made; a limit all the same, so that calls are counted in Redis.
CALLS_A_MINUTE = 1_000_000
THEIRS = {"openai": "gpt-9", "azure": "our-deployment", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}
MEDIA = {
    Kind.IMAGE: NewPrice(model=Decimal(20_000), variant="1024x1024"),
    Kind.SPEECH: NewPrice(model=Decimal("7.5")),
    Kind.TRANSCRIPTION: NewPrice(model=Decimal(50)),
    Kind.EMBEDDING: NewPrice(model=Decimal(2)),
}
# Sinks whose controls are names that get there by themselves: of provider accounts, and of a key.
METRICS, CONSOLE = "metrics", "console pages"
RICH_EMAIL = "rich@example.com"
RICH_USD, POOR_USD = Decimal(10_000), Decimal("0.02")

PATIENT = {"TOLLKEEPER_STORE_PATIENCE_SECONDS": "20"}


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls what. The rich customer has a login, too."""

    # By vendor and, of media, by kind.
    models: Mapping[str, str]
    account_id: int
    email: str
    password: str
    key: str
    poor_account_id: int
    poor_key: str


def furnish(settings: Mapping[str, str], upstream: str, control: Callable[[str], str]) -> Targets:
    """Names and the address of mails are controls: they are to be found where those are shown."""
    # Short times are the node's, so that calls end in every way.
    settings = dict(settings) | PATIENT
    command(dict(settings), "migrate")
    asyncio.run(with_limits(settings["TOLLKEEPER_DATABASE_URL"], CALLS_A_MINUTE))
    address = f"{control('mails')}@example.com"
    command(dict(settings), "login", "sign-up", address)
    password = secrets.token_hex()
    # The poor one's quota runs low, and they are told so by mail.
    rich, poor = (
        int(command(settings, "login", "open", email, stdin=f"{password}\n").split()[-1])
        for email in (RICH_EMAIL, f"poor-{address}")
    )
    models, keys = asyncio.run(_furnish(settings, upstream, control, rich=rich, poor=poor))
    return Targets(
        models=models,
        account_id=rich,
        email=RICH_EMAIL,
        password=password,
        key=keys[0],
        poor_account_id=poor,
        poor_key=keys[1],
    )


async def _furnish(
    settings: Mapping[str, str], upstream: str, control: Callable[[str], str], *, rich: int, poor: int
) -> tuple[dict[str, str], list[str]]:
    async with office(load(dict(settings))) as desk:
        models = await _models(desk, upstream, suffix=control("pages"), marked=control(METRICS))
        for account_id, usd in ((rich, RICH_USD), (poor, POOR_USD)):
            credit = Credit(
                account_id=account_id,
                amount=quota_from_usd(usd),
                source="operator",
                source_id=f"for {account_id}",
                months=9,
            )
            await desk.accounts.credit(credit, actor=ACTOR)
        keys = [(await a_key(desk, each, control("commands"))).key for each in (rich, poor)]
        await a_key(desk, rich, control(CONSOLE))
    return models, keys


async def _models(desk: Office, upstream: str, *, suffix: str, marked: str) -> dict[str, str]:
    """`marked`: a name for provider accounts."""
    kinds = {**dict.fromkeys(VENDORS, Kind.CHAT), **{kind.value: kind for kind in MEDIA}}
    models = {name: f"{name}-{suffix}" for name in kinds}
    for vendor in VENDORS:
        served = {models[vendor]: THEIRS[vendor]}
        if vendor == "openai":
            served |= {models[kind.value]: models[kind.value] for kind in MEDIA}
        for number in range(ACCOUNTS_OF_VENDOR):
            account = NewProviderAccount(
                name=f"{vendor}-{number}-{marked}",
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
