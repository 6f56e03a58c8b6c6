"""Casting: an account for each SDK and a key for each of its acts, so that the call log tells them apart."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal

import msgspec

from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app import Office, office
from tollkeeper.core.money import quota_from_usd
from tollkeeper.ports import Credit
from tollkeeper.settings import load
from tools.node import tollkeeper
from tools.proofs.sdks.acts import ACTS, MODEL
from tools.run import command

RICH_USD = Decimal(10)
# Enough for a few tokens, too little for the hold of a call without a cap.
POOR_USD = Decimal("0.001")
ACTOR = "proof"
PROVIDER_KEY = "sk-simulated"


class Part(msgspec.Struct, frozen=True):
    """One act of one SDK, and the key that only this act uses."""

    sdk: str
    act: str
    key_id: int
    key: str


def furnish(settings: Mapping[str, str], upstream: str, sdks: list[str]) -> list[Part]:
    """A schema, a model, a provider account, and who calls."""
    command(dict(settings), "migrate")
    command(dict(settings), "model", "add", MODEL, "--multiplier", "1.25", "--completion", "4")
    added = tollkeeper(settings, "provider", "add", "simulator", upstream, stdin=PROVIDER_KEY)
    assert added.returncode == 0, added.stderr
    return asyncio.run(cast(settings, sdks))


async def cast(settings: Mapping[str, str], sdks: list[str]) -> list[Part]:
    async with office(load(settings)) as desk:
        poor = await an_account(desk, "poor", POOR_USD)
        parts = []
        for sdk in sdks:
            rich = await an_account(desk, sdk, RICH_USD)
            for name, act in ACTS.items():
                if act.wrong_key is None:
                    wish = KeyWish(account_id=rich if act.has_quota else poor, name=f"{sdk}: {name}")
                    issued = await create_key(wish, desk.key_maker, desk.keys, actor=ACTOR)
                    parts.append(Part(sdk, name, issued.key_id, issued.key))
        return parts


async def an_account(desk: Office, name: str, usd: Decimal) -> int:
    account_id = await desk.accounts.create(name, "standard", actor=ACTOR)
    credit = Credit(
        account_id=account_id, amount=quota_from_usd(usd), source="operator", source_id=f"for {name}", months=9
    )
    await desk.accounts.credit(credit, actor=ACTOR)
    return account_id
