"""The published price book as a page and as two feeds, kept until something in it changes.

Rules of this file
1. What is served is made once and kept: a reader costs nothing but the bytes.
2. Nothing here says who entered a price, or why.
3. No cache may keep a page beyond the next change of a price.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape

import msgspec

from tollkeeper.core.price_book import Announced, PriceBook, PricedModel, tags
from tollkeeper.core.receipt import multiplier
from tollkeeper.ports.prices import PriceList

NEWS_MOST = 100
# A forced change is in force five seconds after it was entered, and for two of them a node may not know of it.
KEPT_SECONDS_MOST = 3
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{border:1px solid #999;padding:.2rem .6rem;text-align:left}"
)
INTRODUCTION = (
    "<p>1 USD is 500,000 quota tokens. A call consumes group × model × (input + output × completion); cached input "
    "counts by its own multiplier. A call keeps the price at which it began. Times are UTC. Changes are announced "
    'here, as <a href="/prices.atom">Atom</a> and as <a href="/prices.json">JSON</a>.</p>'
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Document(msgspec.Struct, frozen=True):
    body: bytes
    etag: str


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
        bodies = {form: make(book, now, self._owner) for form, make in made.items()}
        documents = {
            form: Document(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"') for form, body in bodies.items()
        }
        return Pages(book, documents, book.next_change(now))


def as_html(book: PriceBook, now: datetime, owner: str) -> bytes:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>Prices of {escape(owner)}</title><style>{STYLE}</style>",
        '<link rel="alternate" type="application/atom+xml" href="/prices.atom">',
        '<link rel="alternate" type="application/feed+json" href="/prices.json"></head><body>',
        f"<h1>Prices of {escape(owner)}</h1>",
        INTRODUCTION,
    ]
    if book.group != 1_000_000:
        parts.append(f"<p>The group multiplier is {multiplier(book.group)}; the prices in USD include it.</p>")
    for model in book.models:
        parts.append(f"<h2>{escape(model.id)}</h2>")
        for title, rows in _sections(model, now):
            parts += [f"<h3>{title}</h3>", *_table(model, rows, book.group)] if rows else []
    return "".join([*parts, "</body></html>\n"]).encode()


def _sections(model: PricedModel, now: datetime) -> Iterator[tuple[str, list[Announced]]]:
    yield "Now", model.current(now)
    yield "Announced", model.upcoming(now)
    yield "Before", model.past(now)


def _table(model: PricedModel, rows: Iterable[Announced], group: int) -> Iterator[str]:
    yield "<table><tr><th>from</th><th>announced</th><th>multipliers</th><th>USD</th></tr>"
    for row in rows:
        usd = "<br>".join(f"{tag.usd} for a {tag.what}" for tag in tags(model.kind, row.price, group))
        withdrawn = f"<br>withdrawn {_moment(row.withdrawn_at)}" if row.withdrawn_at else ""
        cells = (_moment(row.price.effective_from) + withdrawn, _moment(row.announced_at), _multipliers(row), usd)
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</table>"


def _multipliers(row: Announced) -> str:
    price = row.price
    name = f"{escape(price.variant)}: " if price.variant else ""
    figures = f"model {multiplier(price.model)}, completion {multiplier(price.completion)}"
    return f"{name}{figures}, cached {multiplier(price.cached)}"


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
    }


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
    usd = ", ".join(f"{tag.usd} USD for a {tag.what}" for tag in tags(model.kind, price, group))
    return (
        f"{_headline(model, row)}. Multipliers: model {multiplier(price.model)}, completion "
        f"{multiplier(price.completion)}, cached {multiplier(price.cached)}. That is {usd}."
    )


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
