"""Provider accounts: `provider add`, `list`, `set`, `rotate-key`, `pause`, `drain`, `resume`, `test`."""

import sys
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from tollkeeper.app import office
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, show_list
from tollkeeper.cli.price_options import multiplier_in
from tollkeeper.cli.provider_words import (
    BadDescription,
    check_address,
    check_api_version,
    check_passes,
    check_rejects,
    check_vendor,
    health,
    limits_in_words,
    model_names,
    models,
    standing_record,
    usd,
)
from tollkeeper.cli.speak import Mistake, complain, say, settings_or_complain
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports import NewProviderAccount, ProviderForm, ProviderStanding, ProviderState

MOST = 2**31 - 1
OF_A_DAY = ("calls 24 h", "charged USD", "cost USD", "margin USD")

provider_app = typer.Typer(help="Provider accounts: credentials at upstream providers.", no_args_is_help=True)

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
ProviderName = Annotated[str, typer.Argument(metavar="NAME", help="The provider account's name.")]


def register(app: typer.Typer) -> None:
    app.add_typer(provider_app, name="provider")


def _limit(what_for: str) -> Any:
    return typer.Option(metavar="N", min=1, max=MOST, help=f"{what_for} Without it: no limit.")


@provider_app.command("add")
@command(BadDescription)
def add(
    name: Annotated[str, typer.Argument(help="What to call it in logs and reports; never changes.")],
    base_url: Annotated[str, typer.Argument(help="Where it is: https://host/v1")],
    vendor: Annotated[
        str, typer.Option(help="Its wire format: openai (and anything compatible), azure, anthropic or gemini.")
    ] = "openai",
    tier: Annotated[int, typer.Option(min=1, max=32_767, help="Lower tiers are used before higher ones.")] = 1,
    weight: Annotated[int, typer.Option(min=0, max=1_000, help="Its share of its tier's calls; 0 for none.")] = 1,
    rpm: Annotated[int | None, _limit("Requests a minute.")] = None,
    tpm: Annotated[int | None, _limit("Tokens a minute.")] = None,
    concurrency: Annotated[int | None, _limit("Calls at once.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="OUR=THEIRS", help="A model it serves, and its name there; repeat it. Without: all."),
    ] = None,
    cost: Annotated[str, typer.Option(help="What it costs us, as a part of the list price.")] = "1",
    rejects: Rejects = None,
    passes: Passes = None,
    api_version: ApiVersion = None,
    insecure_http: Annotated[bool, typer.Option("--insecure-http", help="Allow http:// beyond this host.")] = False,
) -> Coroutine[None, None, None]:
    """Add a provider account. Its key is read from the terminal or from standard input, never from the command line."""
    check_vendor(vendor)
    check_rejects(rejects or ())
    check_passes(passes or (), vendor)
    check_api_version(api_version)
    check_address(base_url, insecure_http=insecure_http, private_allowed=settings_or_complain().private_providers)
    models = model_names(model) if model else None
    place = PoolPlace(tier=tier, weight=weight, requests_per_minute=rpm, tokens_per_minute=tpm, concurrency=concurrency)
    part_of_price = multiplier_in(cost)
    account = NewProviderAccount(
        name=name,
        vendor=vendor,
        base_url=base_url,
        secret=_key(),
        place=place,
        models=models,
        cost=part_of_price,
        rejects=frozenset(rejects or ()),
        passes=frozenset(passes or ()),
        api_version=api_version,
    )
    return _add(account)


async def _add(account: NewProviderAccount) -> None:
    async with office(settings_or_complain()) as desk:
        number = await desk.providers.add(account, actor=desk.actor)
    say(f"provider account {number} ({account.name}) added; its key is sealed")


@provider_app.command("list")
@command()
async def list_all(as_json: AsJson = False) -> None:
    """Every provider account: its place in the pool, how it is doing, and what it earned in the last 24 hours."""
    chosen = settings_or_complain()
    async with office(chosen) as desk:
        found = await desk.providers.standing()
    show_list(
        found,
        head=("name", "tier", "weight", "limits", "models", "health", *OF_A_DAY),
        line=partial(_line, private_allowed=chosen.private_providers),
        record=partial(standing_record, private_allowed=chosen.private_providers),
        as_json=as_json,
    )


@provider_app.command("set")
@command(BadDescription)
async def set_form(
    name: ProviderName, rejects: Rejects = None, passes: Passes = None, api_version: ApiVersion = None
) -> None:
    """Set what it does not take (all of it: --rejects none takes everything), what it takes beside the parameters that
    are listed (all of it: --passes none for nothing), or its version of the interface."""
    given = ProviderForm(rejects=_all_of(rejects), passes=_all_of(passes), api_version=api_version)
    check_rejects(given.rejects or ())
    check_api_version(api_version)
    async with office(settings_or_complain()) as desk:
        if given.passes:
            check_passes(sorted(given.passes), (await desk.providers.find(name)).vendor)
        await desk.providers.set_form(name, given, actor=desk.actor)
    say(f"provider account {name} is set")


@provider_app.command("rotate-key")
@command()
def rotate_key(
    name: ProviderName,
    untested: Annotated[bool, typer.Option("--untested", help="Take the new key without asking the provider.")] = False,
) -> Coroutine[None, None, None]:
    """Give it another key, which the provider must accept. It is read from the terminal or from standard input. Calls
    under way end with the old one, new ones begin with the new one, on every node within two seconds."""
    return _rotate_key(name, _key(), untested=untested)


async def _rotate_key(name: str, key: str, *, untested: bool) -> None:
    async with office(settings_or_complain()) as desk:
        account = await desk.providers.with_key(name, key)
        if not untested:
            accepted, told = await desk.probe_key(account)
            if not accepted:
                raise Mistake(f"{name} keeps the key that it has: with the new one, {told}.")
        await desk.providers.set_key(name, key, actor=desk.actor)
        lifted = not untested and await desk.suspensions.lift(account.id)
    say(f"provider account {name} has a new key, sealed" + ("; it is no longer suspended" if lifted else ""))
    say("Revoke the old one at the provider when the calls that began with it are over.")


@provider_app.command("pause")
@command()
async def pause(name: ProviderName) -> None:
    """Give it no more calls, on every node within two seconds, until it is resumed."""
    await _set_state(name, ProviderState.PAUSED, "paused")


@provider_app.command("drain")
@command()
async def drain(name: ProviderName) -> None:
    """Let the calls under way end and give it no more, to take it away afterwards."""
    await _set_state(name, ProviderState.DRAINING, "draining")


@provider_app.command("resume")
@command()
async def resume(name: ProviderName) -> None:
    """Give it calls again, also if it is suspended: the next call will tell whether its key is accepted."""
    await _set_state(name, ProviderState.ACTIVE, "active")
    async with office(settings_or_complain()) as desk:
        account = await desk.providers.find(name)
        lifted = await desk.suspensions.lift(account.id)
    if lifted:
        say(f"the suspension of {name} is lifted")


@provider_app.command("test")
@command()
async def try_account(
    name: ProviderName,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Our id of the model to call. Without: the first that it serves.")
    ] = None,
) -> None:
    """Make live calls to it and say what works: its key, whole and streamed answers, tools, images, JSON. An accepted
    key lifts the account's suspension. Exit code 1 if the key is refused or no answer comes."""
    if not await _test(name, model):
        raise typer.Exit(1)


async def _test(name: str, model: str | None) -> bool:
    async with office(settings_or_complain()) as desk:
        account = await desk.providers.find(name)
        accepted, told = await desk.probe_key(account)
        if not accepted:
            complain(f"{name}: {told}.")
            return False
        lifted = await desk.suspensions.lift(account.id)
        say(f"{name}: {told}." + (" It is no longer suspended." if lifted else ""))
        known = await desk.catalog.chat_models()
        chosen = model or next((known_id for known_id in known if account.name_of(known_id) is not None), None)
        if chosen is None:
            say("It serves no chat model of the catalog, so no call was made. Add one with `tollkeeper model add`.")
            return True
        say(f"Small calls of {chosen}, at the provider's price:")
        works = []
        async for finding in desk.try_out(account, chosen):
            works.append(finding.works)
            say(f"  {'✓' if finding.works else '✗'} {finding.what}: {finding.detail}")
        # Whoever cannot answer at all serves nobody; anything else is a matter of what it is for.
        return any(works)


def _all_of(names: Sequence[str] | None) -> frozenset[str] | None:
    """What is given anew as a whole, with a word for nothing."""
    return None if names is None else frozenset(names) - {"none"}


async def _set_state(name: str, state: ProviderState, word: str) -> None:
    async with office(settings_or_complain()) as desk:
        changed = await desk.providers.set_state(name, state, actor=desk.actor)
    say(f"provider account {name} is {word}" + ("" if changed else ", as it was before"))


def _key() -> str:
    secret: str = typer.prompt("Provider key", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not secret.strip():
        raise Mistake("No provider key was given: type it when asked, or send it to standard input.")
    return secret.strip()


def _line(standing: ProviderStanding, *, private_allowed: bool) -> tuple[str, ...]:
    return (
        standing.name,
        str(standing.place.tier),
        str(standing.place.weight),
        limits_in_words(standing.place),
        models(standing),
        health(standing, private_allowed=private_allowed),
        str(standing.delivered),
        usd(standing.charged),
        usd(standing.cost),
        usd(standing.charged - standing.cost),
    )
