"""Options that commands share where prices are entered: multipliers, and the parts of a price."""

import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator
from decimal import Decimal
from functools import wraps
from typing import Annotated, Any

import msgspec
import typer
from msgspec import UNSET

from tollkeeper.accounts.price_parts import PriceRefused, amount_typed, multiplier_typed
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.money.amounts import NotAnAmount, Quota
from tollkeeper.core.money.parts import Part
from tollkeeper.office.price_wishes import USD_NAMES, UsdPricesWish
from tollkeeper.ports.catalog.prices import NewParts, NewTier

# What unsets a part.
NONE = "none"

UsdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--usd",
        metavar="WHAT=USD",
        help="Instead of multipliers: unit=2.50 for a million input tokens or characters, an image or a minute; "
        "cached=0.25, output=10, or a part's name, as written_5m=3, for a million tokens; repeat it.",
    ),
]

PricingCommand = Callable[..., Coroutine[None, None, None]]


def _times(what: str) -> Any:
    text = f"How many input tokens {what} costs, or '{NONE}': as any other."
    return Annotated[str | None, typer.Option(metavar="MULTIPLIER", help=text)]


OPTIONS: dict[str, Any] = {
    Part.WRITTEN_5M.value: _times("one that is written to a cache for 5 minutes"),
    Part.WRITTEN_1H.value: _times("one that is written to a cache for an hour"),
    Part.IMAGE_INPUT.value: _times("an input token of an image"),
    Part.AUDIO_INPUT.value: _times("an input token of sound"),
    Part.IMAGE_OUTPUT.value: _times("an output token of an image"),
    Part.AUDIO_OUTPUT.value: _times("an output token of sound"),
    "per_call": Annotated[
        str | None, typer.Option(metavar="USD", help=f"What each call costs beside its tokens, or '{NONE}'.")
    ],
    "tool": Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=USD", help=f"What a use of a vendor's tool costs, or NAME={NONE}; repeat it."),
    ],
    "tier": Annotated[
        list[str] | None,
        typer.Option(
            metavar="ABOVE=MULTIPLIER[/COMPLETION[/CACHED]]",
            help="What holds for calls with more input tokens, as 200000=2.5/6, instead of the multipliers of the "
            f"price; or ABOVE={NONE}; repeat it.",
        ),
    ],
}


def with_parts(act: PricingCommand) -> PricingCommand:
    """A command that has the options of all parts. It is given what they say as `parts`."""

    @wraps(act)
    def run(*arguments: object, **options: Any) -> Coroutine[None, None, None]:
        parts = parts_in({name: options.pop(name) for name in OPTIONS})
        return act(*arguments, **options, parts=parts)

    own = inspect.signature(act, eval_str=True)
    kept = [parameter for name, parameter in own.parameters.items() if name != "parts"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in OPTIONS.items()]
    # Typer reads a command's options from here.
    setattr(run, "__signature__", own.replace(parameters=[*kept, *added]))  # noqa: B010 (functions have no such field)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *added)}
    return run


def parts_in(given: dict[str, Any]) -> NewParts:
    """As the options name them. Raise Mistake."""
    figures = {part.value: _or_none(given[part.value], multiplier_in) for part in Part}
    return msgspec.structs.replace(
        NewParts(),
        **figures,
        per_call=_or_none(given["per_call"], amount_in),
        tools={name: _named(amount, amount_in) for name, amount in _pairs(given["tool"], "web_search=0.01")},
        tiers={_length_in(length): _named(tier, _tier_in) for length, tier in _pairs(given["tier"], "200000=2.5/6")},
    )


def usd_in(texts: Iterable[str] | None) -> UsdPricesWish:
    """Prices in USD. Raise Mistake."""
    found = dict(_pairs(texts, "unit=2.50"))
    unknown = next((name for name in found if name not in USD_NAMES), None)
    if unknown is not None:
        names = ", ".join(USD_NAMES)
        raise Mistake(f"'{unknown}' has no price in USD: name one of {names}. Nothing was done.")
    return msgspec.convert(found, UsdPricesWish)


def _or_none(text: str | None, read: Callable[[str], Any]) -> Any:
    return UNSET if text is None else _named(text, read)


def _named(text: str, read: Callable[[str], Any]) -> Any:
    return None if text == NONE else read(text)


def _pairs(texts: Iterable[str] | None, example: str) -> Iterator[tuple[str, str]]:
    seen = set()
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or name in seen:
            raise Mistake(f"'{text}' cannot be read, or stands there twice: write {example}, or {name}={NONE}.")
        seen.add(name)
        yield name, value


def _length_in(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 10:
        raise Mistake(f"'{text}' is not a length of input: write it in tokens, as 200000=2.5/6.")
    return int(text)


def _tier_in(text: str) -> NewTier:
    model, *more = (multiplier_in(each) for each in text.split("/"))
    if len(more) > 2:
        raise Mistake(f"'{text}' has more than three multipliers: write MULTIPLIER/COMPLETION/CACHED.")
    completion, cached = (*more, None, None)[:2]
    return NewTier(model=model, completion=completion, cached=cached)


def multiplier_in(text: str) -> Decimal:
    try:
        return multiplier_typed(text)
    except PriceRefused as problem:
        raise Mistake(str(problem)) from None


def amount_in(text: str) -> Quota:
    """USD, which may be nothing."""
    try:
        return amount_typed(text)
    except NotAnAmount as problem:
        raise Mistake(str(problem)) from None
