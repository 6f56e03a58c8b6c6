"""The published price book as a page and as two feeds, kept until something in it changes.

Rules of this file
1. What is served is made once and kept: a reader costs nothing but the bytes.
2. Nothing here says who entered a price, or why.
3. No cache may keep a page beyond the next change of a price.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape

import msgspec

from tollkeeper.core.catalog.price_book import Announced, PriceBook, PricedModel, tags
from tollkeeper.core.money.amounts import quota_text
from tollkeeper.core.money.parts import WEIGHTS, PriceParts, PriceTier
from tollkeeper.core.money.price_words import multiplier, parts_in_words
from tollkeeper.core.money.prices import Price
from tollkeeper.edge.documents import Document, document
from tollkeeper.ports.catalog.prices import PriceList

NEWS_MOST = 100
TYPES = {
    "html": b"text/html; charset=utf-8",
    "json": b"application/feed+json; charset=utf-8",
    "atom": b"application/atom+xml; charset=utf-8",
}
# A forced change is in force five seconds after it was entered, and for two of them a node may not know of it.
KEPT_SECONDS_MOST = 3
INTRODUCTION = (
    "<p>1 USD is 500,000 quota tokens. A call consumes group × model × (input + output × completion); cached input "
    "counts by its own multiplier. A call keeps the price at which it began. Times are UTC. Changes are announced "
    'here, as <a href="/prices.atom">Atom</a> and as <a href="/prices.json">JSON</a>.</p>'
)
IN_PARTS = (
    "<p>Where a model has more figures than these: tokens that are written to a cache, and those of images and sound, "
    "count by their own multipliers, in place of 1 or of completion; so does plain input where it has one. Multipliers "
    "above a length of input stand in for those of the price, for the whole call. What each call and each use of a "
    "tool costs is added, times the group.</p>"
)


class Pages(msgspec.Struct, frozen=True):
    """What was made of one book, and until when it holds."""

    book: PriceBook
    documents: Mapping[str, Document]
    until: datetime | None

    def cache_seconds(self, now: datetime) -> int:
        if self.until is None:
            return KEPT_SECONDS_MOST
        return max(0, min(KEPT_SECONDS_MOST, int((self.until - now).total_seconds())))


class PricePages:
    def __init__(self, prices: PriceList, *, owner: str) -> None:
        self._prices = prices
        self._owner = owner
        self._kept: Pages | None = None

    async def at(self, now: datetime) -> Pages:
        book, kept = await self._prices.published(), self._kept
        if kept is None or kept.book is not book or (kept.until is not None and kept.until <= now):
            kept = self._kept = self._make(book, now)
        return kept

    def _make(self, book: PriceBook, now: datetime) -> Pages:
        made: dict[str, Callable[[PriceBook, datetime, str], bytes]] = {
            "html": as_html,
            "json": as_json,
            "atom": as_atom,
        }
        documents = {form: document(make(book, now, self._owner), TYPES[form]) for form, make in made.items()}
        return Pages(book, documents, book.next_change(now))


def as_html(book: PriceBook, now: datetime, owner: str) -> bytes:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        '<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/pages.css">',
        f'<title>Prices of {escape(owner)}</title><link rel="icon" href="/favicon.ico" type="image/svg+xml">',
        '<link rel="alternate" type="application/atom+xml" href="/prices.atom">',
        '<link rel="alternate" type="application/feed+json" href="/prices.json"></head><body><main>',
        f"<h1>Prices of {escape(owner)}</h1>",
        INTRODUCTION,
    ]
    if book.group != 1_000_000:
        parts.append(f"<p>The group multiplier is {multiplier(book.group)}; the prices in USD include it.</p>")
    if any(row.price.parts for model in book.models for row in model.rows):
        parts.append(IN_PARTS)
    for model in book.models:
        parts.append(f'<section class="card"><h2>{escape(model.id)}</h2>')
        for title, rows in _sections(model, now):
            parts += [f"<h3>{title}</h3>", *_table(model, rows, book.group)] if rows else []
        parts.append("</section>")
    return "".join([*parts, "</main></body></html>\n"]).encode()


def _sections(model: PricedModel, now: datetime) -> Iterator[tuple[str, list[Announced]]]:
    yield "Now", model.current(now)
    yield "Announced", model.upcoming(now)
    yield "Before", model.past(now)


def _table(model: PricedModel, rows: Iterable[Announced], group: int) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0"><table>'
    yield "<tr><th>from</th><th>announced</th><th>USD</th><th>multipliers</th></tr>"
    for row in rows:
        name = f"{escape(row.price.variant)}: " if row.price.variant else ""
        usd = name + "<br>".join(f"{tag.usd} for {tag.each}" for tag in tags(model.kind, row.price, group))
        withdrawn = f"<br>withdrawn {_moment(row.withdrawn_at)}" if row.withdrawn_at else ""
        cells = (
            _moment(row.price.effective_from) + withdrawn,
            _moment(row.announced_at),
            usd,
            escape(_book_figures(row.price)),
        )
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</table></div>"


def _book_figures(price: Price) -> str:
    plain = f"model {multiplier(price.model)}, completion {multiplier(price.completion)}"
    return f"{plain}, cached {multiplier(price.cached)}{parts_in_words(price.parts)}"


def as_json(book: PriceBook, now: datetime, owner: str) -> bytes:
    """A JSON Feed (1.1) of the news; all prices stand in `_models`."""
    items = [
        {
            "id": _name(owner, row),
            "title": _headline(model, row),
            "content_text": _sentence(model, row, book.group),
            "date_published": row.announced_at,
            "date_modified": row.told_at,
        }
        for model, row in _latest(book)
    ]
    models = [
        {
            "id": model.id,
            "kind": model.kind,
            "current": [_figures(model, row, book.group) for row in model.current(now)],
            "upcoming": [_figures(model, row, book.group) for row in model.upcoming(now)],
            "history": [_figures(model, row, book.group) for row in model.past(now)],
        }
        for model in book.models
    ]
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"Prices of {owner}",
        "items": items,
        "_group_multiplier": multiplier(book.group),
        "_models": models,
    }
    return msgspec.json.encode(feed)


def _figures(model: PricedModel, row: Announced, group: int) -> dict[str, object]:
    price = row.price
    return {
        "price_id": price.id,
        "variant": price.variant,
        "effective_from": price.effective_from,
        "announced_at": row.announced_at,
        "withdrawn_at": row.withdrawn_at,
        "model_multiplier": multiplier(price.model),
        "completion_multiplier": multiplier(price.completion),
        "cached_multiplier": multiplier(price.cached),
        "usd": {tag.what: tag.usd for tag in tags(model.kind, price, group)},
        **({"parts": _parts(price.parts)} if price.parts else {}),
    }


def _parts(parts: PriceParts) -> dict[str, object]:
    """The parts that are set: multipliers of the model's, and quota tokens, before the group's multiplier."""
    found: dict[str, object] = {
        f"{name}_multiplier": multiplier(own) for name in WEIGHTS if (own := getattr(parts, name)) is not None
    }
    if parts.per_call:
        found["quota_tokens_per_call"] = quota_text(parts.per_call)
    if parts.tools:
        found["quota_tokens_per_use"] = {tool: quota_text(amount) for tool, amount in parts.tools.items()}
    if parts.tiers:
        found["tiers"] = [_tier(tier) for tier in parts.tiers]
    return found


def _tier(tier: PriceTier) -> dict[str, object]:
    named = {"model": tier.model, "completion": tier.completion, "cached": tier.cached, **tier.weights}
    figures = {f"{name}_multiplier": multiplier(own) for name, own in named.items() if own is not None}
    return {"above_input_tokens": tier.above_tokens, **figures}


def as_atom(book: PriceBook, _: datetime, owner: str) -> bytes:
    latest = list(_latest(book))
    updated = latest[0][1].told_at if latest else datetime(1970, 1, 1, tzinfo=UTC)
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>Prices of {escape(owner)}</title><id>{escape(_name(owner, None))}</id>",
        f"<updated>{updated.isoformat()}</updated><author><name>{escape(owner)}</name></author>",
        '<link rel="self" href="/prices.atom"/><link rel="alternate" type="text/html" href="/prices"/>',
    ]
    for model, row in latest:
        parts.append(
            f"<entry><title>{escape(_headline(model, row))}</title><id>{escape(_name(owner, row))}</id>"
            f"<published>{row.announced_at.isoformat()}</published><updated>{row.told_at.isoformat()}</updated>"
            f'<link rel="alternate" type="text/html" href="/prices"/>'
            f'<content type="text">{escape(_sentence(model, row, book.group))}</content></entry>'
        )
    return "".join([*parts, "</feed>\n"]).encode()


def _latest(book: PriceBook) -> Iterator[tuple[PricedModel, Announced]]:
    for _, each in zip(range(NEWS_MOST), book.news(), strict=False):
        yield each


def _name(owner: str, row: Announced | None) -> str:
    """By which readers know an entry again (RFC 4151)."""
    return f"tag:{owner},2026:prices" + ("" if row is None else f"/{row.price.id}")


def _headline(model: PricedModel, row: Announced) -> str:
    what = f"{model.id} ({row.price.variant})" if row.price.variant else model.id
    at = _moment(row.price.effective_from)
    return f"{what}: the price announced for {at} was withdrawn" if row.withdrawn_at else f"{what}: price from {at}"


def _sentence(model: PricedModel, row: Announced, group: int) -> str:
    price = row.price
    usd = ", ".join(f"{tag.usd} USD for {tag.each}" for tag in tags(model.kind, price, group))
    return f"{_headline(model, row)}. It costs {usd}. Multipliers: {_book_figures(price)}."


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
