"""Builders: customers, keys and models with defaults, made through the product's own use-cases."""

from datetime import datetime
from decimal import Decimal
from uuid import uuid4

import msgspec

from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.office.desks import Office
from tollkeeper.ports import Credit, NewModel, NewPrice

ACTOR = "test"
USUAL_LIMITS = TokenCaps()
USUAL_PRICE = NewPrice(model=Decimal(1))
# An output token costs as much as four of input.
DEAR_OUTPUT = NewPrice(model=Decimal(1), completion=Decimal(4))


def a_model_id() -> str:
    return f"model-{uuid4().hex[:8]}"


class Customer(msgspec.Struct, frozen=True):
    account_id: int
    key_id: int
    key: str


class Customers:
    def __init__(self, desk: Office) -> None:
        self.desk = desk

    async def a_customer(
        self,
        *,
        usd: str | None = "10",
        group: str = "standard",
        quota_usd: str | None = None,
        expires_at: datetime | None = None,
        only_models: list[str] | None = None,
    ) -> Customer:
        """An account with quota and one key."""
        account_id = await self.desk.accounts.create("a customer", group, actor=ACTOR)
        if usd is not None:
            await self.credit(account_id, usd)
        return await self.a_key(account_id, quota_usd=quota_usd, expires_at=expires_at, only_models=only_models)

    async def a_key(
        self,
        account_id: int,
        *,
        quota_usd: str | None = None,
        expires_at: datetime | None = None,
        only_models: list[str] | None = None,
    ) -> Customer:
        wish = KeyWish(
            account_id=account_id,
            name="a key",
            quota=None if quota_usd is None else quota_from_usd(Decimal(quota_usd)),
            expires_at=expires_at,
            only_models=only_models,
        )
        issued = await create_key(wish, self.desk.key_maker, self.desk.keys, actor=ACTOR)
        return Customer(account_id, issued.key_id, issued.key)

    async def credit(self, account_id: int, usd: str, *, source_id: str | None = None, months: int = 9) -> int:
        credit = Credit(
            account_id=account_id,
            amount=quota_from_usd(Decimal(usd)),
            source="operator",
            source_id=source_id or uuid4().hex,
            months=months,
        )
        return (await self.desk.accounts.credit(credit, actor=ACTOR)).lot_id

    async def a_model(
        self,
        *,
        only_groups: list[str] | None = None,
        kind: Kind = Kind.CHAT,
        limits: TokenCaps = USUAL_LIMITS,
        price: NewPrice = USUAL_PRICE,
        model_id: str | None = None,
    ) -> str:
        model_id = model_id or a_model_id()
        await self.desk.catalog.add_model(
            NewModel(id=model_id, kind=kind, price=price, token_caps=limits, only_groups=only_groups), actor=ACTOR
        )
        return model_id
