"""The catalog at the operator's desk, in PostgreSQL: models are entered, changed, hidden and removed, on the record."""

from collections.abc import Callable, Iterable, Sequence

import asyncpg
import msgspec

from tollkeeper.core.calls.media import MediaLimits
from tollkeeper.core.catalog.models import Kind
from tollkeeper.ports import AlreadyOnFile, NewModel, NotOnFile
from tollkeeper.ports.catalog.desk import ModelQuery, ModelRecord, ModelRemoval, ModelTerms
from tollkeeper.storage.catalog.models import media_of, parts_text, token_caps_of
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

CHAT_MODELS = "select id from model where kind = 'chat' and retired_at is null order by introduced_at, id"
MODELS = """
select * from model
where ($1::text is null or id = $1) and ($2::text is null or kind = $2)
  and ($3::boolean is null or (retired_at is not null) = $3)
  and ($4::text is null or only_groups is null or $4 = any (only_groups)) and ($5::text is null or id > $5)
order by id limit $6
"""
FIND = "select * from model where id = $1 for no key update"
ADD = """
insert into model (id, kind, only_groups, context_tokens, max_output_tokens, hold_output_tokens, hold_part_tokens,
                   hidden_reasoning, media)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb)
"""
CHANGE = """
update model set only_groups = $2, context_tokens = $3, max_output_tokens = $4, hold_output_tokens = $5,
                 hold_part_tokens = $6, hidden_reasoning = $7, media = $8::text::jsonb
where id = $1
"""
HIDE = "update model set retired_at = case when $2 then ledger_now() end where id = $1"
REMOVE = "select remove_model($1, $2, $3)"

# A model that is new needs no notice, and what it costs is told with it.
ADD_PRICE = "select verdict from enter_price($1, $2, $3, $4, $5, $6, interval '0', null, $7, $8::text::jsonb)"


class SqlCatalogDesk:
    """The `CatalogDesk` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def chat_models(self) -> Sequence[str]:
        return [row["id"] for row in await self._database.rows(CHAT_MODELS)]

    async def models(self, query: ModelQuery, *, after: str | None, limit: int) -> Sequence[ModelRecord]:
        kind = None if query.kind is None else query.kind.value
        asked = (query.model_id, kind, query.hidden, query.group, after, limit)
        return [_record(row) for row in await self._database.rows(MODELS, *asked)]

    async def add_model(self, model: NewModel, *, actor: str) -> None:
        terms = ModelTerms(
            token_caps=model.token_caps,
            media=model.media,
            only_groups=None if model.only_groups is None else sorted(model.only_groups),
        )
        async with self._database.transaction() as connection:
            await _require_groups(connection, terms.only_groups or ())
            try:
                await connection.execute(ADD, model.id, model.kind.value, *_columns(terms))
            except asyncpg.UniqueViolationError:
                raise AlreadyOnFile(f"The model '{model.id}' is in the catalog already.") from None
            for price in (model.price, *model.more_prices):
                figures = (price.model, price.completion, price.cached, price.effective_from)
                values = (price.variant, *figures, actor, parts_text(price.parts))
                verdict = await connection.fetchval(ADD_PRICE, model.id, *values)
                if verdict != "entered":
                    raise AlreadyOnFile(f"The price of '{price.variant}' stands there twice. Nothing was added.")
            prices = {price.variant: str(price.model) for price in (model.price, *model.more_prices)}
            detail = {"kind": model.kind, "model_multipliers": prices}
            await audit(connection, actor, "model.add", f"model:{model.id}", detail)
        await self._notifier.send()

    async def change_model(
        self, model_id: str, change: Callable[[ModelTerms], ModelTerms], *, actor: str
    ) -> tuple[ModelRecord, bool]:
        async with self._database.transaction() as connection:
            before = _record(await _found(connection, model_id))
            terms = change(before.terms)
            news = terms != before.terms
            if news:
                await _require_groups(connection, terms.only_groups or ())
                await connection.execute(CHANGE, model_id, *_columns(terms))
                detail = {"terms": terms, "before": before.terms}
                await audit(connection, actor, "model.change", f"model:{model_id}", detail)
        if news:
            await self._notifier.send()
        return msgspec.structs.replace(before, terms=terms), news

    async def hide_model(self, model_id: str, reason: str, *, hidden: bool, actor: str) -> bool:
        async with self._database.transaction() as connection:
            row = await _found(connection, model_id)
            if (row["retired_at"] is not None) is hidden:
                return False
            await connection.execute(HIDE, model_id, hidden)
            action = "model.hide" if hidden else "model.unhide"
            await audit(connection, actor, action, f"model:{model_id}", {"reason": reason})
        await self._notifier.send()
        return True

    async def remove_model(self, model_id: str, reason: str, *, actor: str) -> ModelRemoval:
        row = await self._database.row(REMOVE, model_id, reason, actor)
        await self._notifier.send()
        return ModelRemoval(row[0])


async def _found(connection: asyncpg.Connection, model_id: str) -> asyncpg.Record:
    """The row of a model, locked. Raise NotOnFile."""
    row = await connection.fetchrow(FIND, model_id)
    if row is None:
        raise NotOnFile(f"There is no model '{model_id}'. Nothing was changed.")
    return row


async def _require_groups(connection: asyncpg.Connection, groups: Iterable[str]) -> None:
    """Raise NotOnFile."""
    wanted = set(groups)
    # Held until the commit: no group goes that a model is only for.
    known = await connection.fetch("select name from account_group where name = any($1) for key share", list(wanted))
    missing = wanted - {row["name"] for row in known}
    if missing:
        raise NotOnFile(f"There is no group '{min(missing)}'.")


def _record(row: asyncpg.Record) -> ModelRecord:
    terms = ModelTerms(token_caps=token_caps_of(row), media=media_of(row), only_groups=row["only_groups"])
    return ModelRecord(
        id=row["id"],
        kind=Kind(row["kind"]),
        introduced_at=row["introduced_at"],
        hidden_at=row["retired_at"],
        terms=terms,
    )


def _columns(terms: ModelTerms) -> tuple[object, ...]:
    caps, media = terms.token_caps, terms.media
    return (
        terms.only_groups,
        caps.context_tokens,
        caps.max_output_tokens,
        caps.hold_output_tokens,
        caps.hold_part_tokens,
        caps.hidden_reasoning,
        None if media == MediaLimits() else msgspec.json.encode(media).decode(),
    )
