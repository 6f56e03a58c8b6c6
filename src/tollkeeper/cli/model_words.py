"""How models read in commands."""

from collections.abc import Iterator

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.price_words import cells, in_words
from tollkeeper.core.catalog.models import Kind
from tollkeeper.office.models import ModelView
from tollkeeper.office.price_views import PriceFigures

HEAD = ("model", "kind", "USD", "for", "announced", "groups", "limits", "now")
ALL = "all"
# Kinds whose models answer, or are priced, in tokens.
BY_TOKENS = (Kind.CHAT, Kind.EMBEDDING)


def line(model: ModelView) -> tuple[str, ...]:
    return (
        model.id,
        model.kind.value,
        "; ".join(map(_usd, model.prices)),
        "; ".join(dict.fromkeys(cells(price)[1] for price in model.prices)),
        "; ".join(f"{_usd(price)} from {moment(price.effective_from)}" for price in model.announced),
        _groups(model),
        _limits(model),
        _standing(model),
    )


def fields(model: ModelView) -> Iterator[tuple[str, str]]:
    yield "model", model.id
    yield "kind", model.kind.value
    for price in model.prices:
        yield _named("price", price), in_words(price)
    for price in model.announced:
        yield _named("announced", price), f"from {moment(price.effective_from)}: {in_words(price)}"
    yield "groups", _groups(model)
    yield "limits", _limits(model)
    if model.kind is Kind.SPEECH:
        yield "voices", ", ".join(model.media.voices)
    yield "since", moment(model.introduced_at)
    yield "now", _standing(model)


def _usd(price: PriceFigures) -> str:
    return cells(price)[0] + (f" ({price.variant})" if price.variant else "")


def _named(what: str, price: PriceFigures) -> str:
    return f"{what} of {price.variant}" if price.variant else what


def _groups(model: ModelView) -> str:
    return ALL if model.only_groups is None else ", ".join(model.only_groups)


def _limits(model: ModelView) -> str:
    caps, media = model.token_caps, model.media
    if model.kind is Kind.IMAGE:
        return f"{media.images_most} images a call"
    if model.kind is Kind.SPEECH:
        return f"{media.characters_most} characters"
    if model.kind not in BY_TOKENS:
        return ""
    told = f"context {caps.context_tokens}"
    if model.kind is Kind.EMBEDDING:
        return told
    thinks = ", thinks" if caps.hidden_reasoning else ""
    held = f"held {caps.hold_output_tokens}, a part {caps.hold_part_tokens}"
    return f"{told}, output {caps.max_output_tokens}, {held}{thinks}"


def _standing(model: ModelView) -> str:
    return "offered" if model.hidden_at is None else f"hidden {moment(model.hidden_at)}"
