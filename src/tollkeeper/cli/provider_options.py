"""Options of commands that describe provider accounts."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import typer
from msgspec import UNSET, UnsetType

from tollkeeper.accounts.providers.served_models import model_names
from tollkeeper.cli.speak import Mistake
from tollkeeper.office.provider_wishes import LIMIT_MOST, TIER_MOST, WEIGHT_MOST

# What takes a limit, a list or a version away.
NONE = "none"

TypedOption = TypeVar("TypedOption")

ProviderName = Annotated[str, typer.Argument(metavar="NAME", help="The provider account's name.")]
InsecureHttp = Annotated[bool, typer.Option("--insecure-http", help="Allow http:// beyond this host.")]
AllModels = Annotated[bool, typer.Option("--all-models", help="It serves every model of the catalog.")]
Rejects = Annotated[
    list[str] | None,
    typer.Option(metavar="PARAMETER", help="A parameter that it does not take, as stream_options; repeat it."),
]
Passes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PARAMETER",
        help="A parameter that is not listed and passes to it as it is; repeat it. It must cost nothing beside tokens.",
    ),
]
ApiVersion = Annotated[
    str | None, typer.Option(metavar="VERSION", help="The version of azure's or anthropic's interface.")
]
COST_HELP = "What it costs us, as a part of the list price."


def tier_option() -> Any:
    return typer.Option(min=1, max=TIER_MOST, help="Lower tiers are used before higher ones.")


def weight_option() -> Any:
    return typer.Option(min=0, max=WEIGHT_MOST, help="Its share of its tier's calls; 0 for none.")


def limit_option(what_for: str) -> Any:
    return typer.Option(metavar="N", min=1, max=LIMIT_MOST, help=f"{what_for} Without it: no limit.")


def changed_limit_option(what_for: str) -> Any:
    return typer.Option(metavar="N", help=f"{what_for} '{NONE}' for no limit.")


def or_unset(given: TypedOption | None) -> TypedOption | UnsetType:
    """What was not typed stays as it is."""
    return UNSET if given is None else given


def limit_in(text: str | None) -> int | UnsetType | None:
    if text is None:
        return UNSET
    if text == NONE:
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:20]) <= LIMIT_MOST:
        raise Mistake(f"'{text}' is not a limit: write a number from 1 to {LIMIT_MOST}, or '{NONE}'.")
    return int(text)


def names_in(given: Sequence[str] | None) -> list[str] | UnsetType:
    """A list that is given anew as a whole, with a word for nothing."""
    return UNSET if given is None else [name for name in given if name != NONE]


def models_in(given: Sequence[str] | None) -> dict[str, str] | UnsetType | None:
    if given is None:
        return UNSET
    return None if list(given) == [NONE] else model_names(given)
