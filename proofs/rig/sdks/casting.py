"""Casting: an account for each player and a key for each of its acts, so that the call log tells them apart."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal

import msgspec

from proofs.rig.customers import a_key, an_account
from proofs.rig.sdks.acts import Act
from tollkeeper.app.office import office
from tollkeeper.settings import load

RICH_USD = Decimal(10)
# Enough for a few tokens, too little for the hold of a call without a cap.
POOR_USD = Decimal("0.001")


class Part(msgspec.Struct, frozen=True):
    """One act of one player, and the key that only this act uses; a wrong key is nobody's and has no id."""

    player: str
    name: str
    act: Act
    key: str
    key_id: int | None = None


def cast(settings: Mapping[str, str], players: Mapping[str, Mapping[str, Act]]) -> list[Part]:
    """Who plays what."""
    return asyncio.run(_cast(settings, players))


async def _cast(settings: Mapping[str, str], players: Mapping[str, Mapping[str, Act]]) -> list[Part]:
    async with office(load(settings)) as desk:
        poor = await an_account(desk, "poor", POOR_USD)
        parts = []
        for player, acts in players.items():
            rich = await an_account(desk, player, RICH_USD)
            for name, act in acts.items():
                if act.wrong_key is not None:
                    parts.append(Part(player, name, act, act.wrong_key))
                    continue
                issued = await a_key(desk, rich if act.has_quota else poor, name)
                parts.append(Part(player, name, act, issued.key, issued.key_id))
        return parts
