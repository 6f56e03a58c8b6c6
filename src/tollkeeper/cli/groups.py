"""Groups of accounts, what they may call and what they pay: `group list`, `show`, `add`, `set`, `move`, `remove`."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import AccountId, MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_fields, show_json, show_list
from tollkeeper.cli.pages import every_page
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.core.limits.windows import Rates
from tollkeeper.office.accounts import SetGroupWish, set_group
from tollkeeper.office.groups import (
    GroupChangeWish,
    GroupReason,
    GroupTermsView,
    GroupView,
    GroupWish,
    NewGroupWish,
    change_group,
    create_group,
    list_groups,
    remove_group,
    show_group,
)
from tollkeeper.office.lists import Paging

MOST = 2**31 - 1
NONE = "none"
# As all groups have it at first.
ONE = "1.000000"
HEAD = ("name", "accounts", "price ×", "a key", "an account", "peak", "kinds", "models", "tokens", "at once")

group_app = typer.Typer(help="Groups of accounts: what they may call in a minute.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(group_app, name="group")


def _limit(what: str) -> Any:
    return typer.Option(metavar="N", help=f"{what}; '{NONE}' for no limit.")


def _rates(of_what: str) -> Any:
    return typer.Option(
        metavar=f"{of_what}=N", help=f"The standard rate of one; repeat it. {of_what}={NONE}: as the others have."
    )


GroupArgument = Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")]
KeyRate = Annotated[str | None, _limit("Calls of one key in any 60 s")]
StandardRate = Annotated[str | None, _limit("Standard rate: calls of an account in any 60 s, for each kind of model")]
Peak = Annotated[
    int | None, typer.Option(metavar="PERCENT", min=100, max=1_000, help="The peak, in percent of the standard rate.")
]
Kinds = Annotated[list[str] | None, _rates("KIND")]
ModelRates = Annotated[list[str] | None, _rates("MODEL")]
Tokens = Annotated[str | None, _limit("Tokens of an account in any 60 s")]
Concurrency = Annotated[str | None, _limit("Calls of an account at once")]
PriceMultiplier = Annotated[
    str | None, typer.Option(metavar="N", help="By how much all prices are multiplied: 0.8 is a fifth less.")
]


@group_app.command("list")
@command()
async def list_all(as_json: AsJson = False) -> None:
    """Every group with its rates: calls in any 60 seconds."""
    groups = await every_page(list_groups, Paging())
    show_list(groups, head=HEAD, line=_line, record=_record, as_json=as_json)


@group_app.command("show")
@command()
async def show(name: GroupArgument, as_json: AsJson = False) -> None:
    """One group: its price multiplier and its rates. What it pays for a model: `model list --for-group NAME`."""
    group = await perform(show_group, GroupWish(group=name))
    if as_json:
        show_json(_record(group))
    else:
        show_fields(zip(HEAD, _line(group), strict=True))


@group_app.command("add")
@command(ValueError)
async def add(
    name: GroupArgument,
    key_rate: KeyRate = None,
    rate: StandardRate = None,
    peak: Peak = None,
    kind: Kinds = None,
    model: ModelRates = None,
    tokens_per_minute: Tokens = None,
    concurrency: Concurrency = None,
    multiplier: PriceMultiplier = None,
    reason: MaybeReason = "",
) -> None:
    """Make a group. What is not said is as everybody has it: 60 calls in any 60 s, at peak 120."""
    given = _given(key_rate, rate, peak, tokens_per_minute, concurrency)
    named: dict[str, Any] = {} if multiplier is None else {"multiplier": multiplier}
    kinds, models = _named(kind), _named(model)
    wish = NewGroupWish(group=name, **given, **named, kind_rates=kinds, model_rates=models, reason=reason)
    say(f"group {name} added: {_in_words(await perform(create_group, wish))}")


@group_app.command("set")
@command(ValueError)
async def set_terms(
    name: GroupArgument,
    key_rate: KeyRate = None,
    rate: StandardRate = None,
    peak: Peak = None,
    kind: Kinds = None,
    model: ModelRates = None,
    tokens_per_minute: Tokens = None,
    concurrency: Concurrency = None,
    multiplier: PriceMultiplier = None,
    reason: Annotated[str, typer.Option(help="Why; another multiplier needs one, and it stays on the record.")] = "",
) -> None:
    """Change a group's rates or its price multiplier, on every node within two seconds. What is not said stays.
    Calls under way, and receipts, keep their multiplier; nobody gets a mail of it."""
    given = _given(key_rate, rate, peak, tokens_per_minute, concurrency)
    kinds, models = _named(kind), _named(model)
    if multiplier is not None and not reason.strip():
        raise Mistake("Another multiplier changes what every call of the group costs: say why, with --reason.")
    wish = GroupChangeWish(
        group=name, **given, kind_rates=kinds, model_rates=models, multiplier=multiplier, reason=reason
    )
    say(f"group {name}: {_in_words(await perform(change_group, wish))}")


@group_app.command("move")
@command(ValueError)
async def move(
    account: AccountId,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group to put it into.")],
    reason: Reason = "by group move",
) -> None:
    """Put an account into another group, with that one's prices and limits."""
    done = await perform(set_group, SetGroupWish(account=account, group=group, reason=reason))
    say(f"account {account} is in group {group}" + ("" if done.changed else ", as it was before"))


@group_app.command("remove")
@command(ValueError)
async def remove(name: GroupArgument, reason: Reason) -> None:
    """Remove a group that has no accounts, and that no model is only for."""
    await perform(remove_group, GroupReason(group=name, reason=reason))
    say(f"group {name} is removed")


def _given(
    key_rate: str | None, rate: str | None, peak: int | None, tokens: str | None, concurrency: str | None
) -> dict[str, Any]:
    """What was asked for, by the name of the rate."""
    given = {"key_rate": key_rate, "standard_rate": rate, "tokens_per_minute": tokens, "concurrency": concurrency}
    wish = {name: _number(text) for name, text in given.items() if text is not None}
    return wish if peak is None else wish | {"peak_percent": peak}


def _named(given: list[str] | None) -> dict[str, int | None]:
    rates = {}
    for text in given or ():
        name, equals, number = text.rpartition("=")
        if not equals or not name:
            raise Mistake(f"'{text}' is not a rate: write NAME=N, or NAME={NONE}. Nothing was done.")
        rates[name] = _number(number)
    return rates


def _number(text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST:
        raise Mistake(f"'{text}' is not a limit: write a whole number from 1 to {MOST}, or {NONE}. Nothing was done.")
    return int(text)


def _limit_in_words(limit: int | None) -> str:
    return NONE if limit is None else str(limit)


def _named_in_words(rates: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {rate}" for name, rate in rates.items())


def _in_words(terms: GroupTermsView) -> str:
    told = {
        "a key": _limit_in_words(terms.key_rate),
        "an account": _limit_in_words(terms.standard_rate),
        "peak": f"{terms.peak_percent} %",
        "kinds": _named_in_words(terms.kind_rates),
        "models": _named_in_words(terms.model_rates),
        "tokens": _limit_in_words(terms.tokens_per_minute),
        "at once": _limit_in_words(terms.concurrency),
        "prices ×": "" if terms.multiplier == ONE else terms.multiplier.rstrip("0").rstrip("."),
    }
    return "; ".join(f"{what} {limit}" for what, limit in told.items() if limit)


def _line(group: GroupView) -> tuple[str, ...]:
    return (
        group.name,
        str(group.accounts),
        group.multiplier,
        _limit_in_words(group.key_rate),
        _limit_in_words(group.standard_rate),
        f"{group.peak_percent} %",
        _named_in_words(group.kind_rates),
        _named_in_words(group.model_rates),
        _limit_in_words(group.tokens_per_minute),
        _limit_in_words(group.concurrency),
    )


def _record(group: GroupView) -> dict[str, Any]:
    return fields_of(group, "name", "accounts", "multiplier", *Rates.__struct_fields__)
