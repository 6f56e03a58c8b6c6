"""Groups of accounts, and what they may call: `group list`, `add`, `set`, `move`."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer

from tollkeeper.app import office
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import AccountId
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.limits.windows import Rates
from tollkeeper.ports import GroupRecord

MOST = 2**31 - 1
NONE = "none"

group_app = typer.Typer(help="Groups of accounts: what they may call in a minute.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(group_app, name="group")


def _limit(what: str) -> Any:
    return typer.Option(metavar="N", help=f"{what}; '{NONE}' for no limit.")


def _rates(of_what: str) -> Any:
    return typer.Option(
        metavar=f"{of_what}=N", help=f"The standard rate of one; repeat it. {of_what}={NONE}: as the others have."
    )


GroupName = Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")]
KeyRate = Annotated[str | None, _limit("Calls of one key in any 60 s")]
StandardRate = Annotated[str | None, _limit("Standard rate: calls of an account in any 60 s, for each kind of model")]
Peak = Annotated[
    int | None, typer.Option(metavar="PERCENT", min=100, max=1_000, help="The peak, in percent of the standard rate.")
]
Kinds = Annotated[list[str] | None, _rates("KIND")]
ModelRates = Annotated[list[str] | None, _rates("MODEL")]
Tokens = Annotated[str | None, _limit("Tokens of an account in any 60 s")]
Concurrency = Annotated[str | None, _limit("Calls of an account at once")]


@group_app.command("list")
@command()
async def list_all(as_json: AsJson = False) -> None:
    """Every group with its rates: calls in any 60 seconds."""
    async with office(settings_or_complain()) as desk:
        groups = await desk.groups.groups()
    head = ("name", "accounts", "price ×", "a key", "an account", "peak", "kinds", "models", "tokens", "at once")
    show_list(groups, head=head, line=_line, record=_record, as_json=as_json)


@group_app.command("add")
@command()
async def add(
    name: GroupName,
    key_rate: KeyRate = None,
    rate: StandardRate = None,
    peak: Peak = None,
    kind: Kinds = None,
    model: ModelRates = None,
    tokens_per_minute: Tokens = None,
    concurrency: Concurrency = None,
) -> None:
    """Make a group. What is not said is as everybody has it: 60 calls in any 60 s, at peak 120."""
    wish = _wish(key_rate, rate, peak, tokens_per_minute, concurrency)
    rates = _changed(Rates(), wish, _named(kind), _named(model))
    async with office(settings_or_complain()) as desk:
        await desk.groups.add(name, rates, actor=desk.actor)
    say(f"group {name} added: {_in_words(rates)}")


@group_app.command("set")
@command()
async def set_rates(
    name: GroupName,
    key_rate: KeyRate = None,
    rate: StandardRate = None,
    peak: Peak = None,
    kind: Kinds = None,
    model: ModelRates = None,
    tokens_per_minute: Tokens = None,
    concurrency: Concurrency = None,
) -> None:
    """Change a group's rates, on every node within two seconds. What is not said stays."""
    wish = _wish(key_rate, rate, peak, tokens_per_minute, concurrency)
    kinds, models = _named(kind), _named(model)
    async with office(settings_or_complain()) as desk:
        changed = await desk.groups.change(name, lambda rates: _changed(rates, wish, kinds, models), actor=desk.actor)
    say(f"group {name}: {_in_words(changed)}")


@group_app.command("move")
@command()
async def move(
    account: AccountId, group: Annotated[str, typer.Argument(metavar="GROUP", help="The group to put it into.")]
) -> None:
    """Put an account into another group, with that one's prices and limits."""
    async with office(settings_or_complain()) as desk:
        moved = await desk.groups.move(account, group, actor=desk.actor)
    say(f"account {account} is in group {group}" + ("" if moved else ", as it was before"))


def _wish(
    key_rate: str | None, rate: str | None, peak: int | None, tokens: str | None, concurrency: str | None
) -> dict[str, int | None]:
    """What was asked for, by the name of the rate."""
    given = {"key_rate": key_rate, "standard_rate": rate, "tokens_per_minute": tokens, "concurrency": concurrency}
    wish = {name: _number(text) for name, text in given.items() if text is not None}
    return wish if peak is None else wish | {"peak_percent": peak}


def _changed(
    rates: Rates, wish: Mapping[str, Any], kinds: Mapping[str, int | None], models: Mapping[str, int | None]
) -> Rates:
    return msgspec.structs.replace(
        rates,
        **wish,
        kind_rates=_without_none({**rates.kind_rates, **kinds}),
        model_rates=_without_none({**rates.model_rates, **models}),
    )


def _without_none(rates: Mapping[str, int | None]) -> dict[str, int]:
    return {name: rate for name, rate in sorted(rates.items()) if rate is not None}


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


def _in_words(rates: Rates) -> str:
    told = {
        "a key": _limit_in_words(rates.key_rate),
        "an account": _limit_in_words(rates.standard_rate),
        "peak": f"{rates.peak_percent} %",
        "kinds": _named_in_words(rates.kind_rates),
        "models": _named_in_words(rates.model_rates),
        "tokens": _limit_in_words(rates.tokens_per_minute),
        "at once": _limit_in_words(rates.concurrency),
    }
    return "; ".join(f"{what} {limit}" for what, limit in told.items() if limit)


def _line(group: GroupRecord) -> tuple[str, ...]:
    rates = group.rates
    return (
        group.name,
        str(group.accounts),
        group.multiplier,
        _limit_in_words(rates.key_rate),
        _limit_in_words(rates.standard_rate),
        f"{rates.peak_percent} %",
        _named_in_words(rates.kind_rates),
        _named_in_words(rates.model_rates),
        _limit_in_words(rates.tokens_per_minute),
        _limit_in_words(rates.concurrency),
    )


def _record(group: GroupRecord) -> dict[str, Any]:
    limits = ("key_rate", "standard_rate", "peak_percent", "kind_rates", "model_rates", "tokens_per_minute")
    return fields_of(group, "name", "accounts", "multiplier") | fields_of(group.rates, *limits, "concurrency")
