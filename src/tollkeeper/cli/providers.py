"""Provider accounts: `provider add`, `list`, `show`, `set`, `rotate-key`, `pause`, `drain`, `resume`, `remove`, …"""

import sys
from collections.abc import Coroutine
from typing import Annotated

import typer
from msgspec import UNSET

from tollkeeper.accounts.providers.served_models import model_names
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MaybeReason, Reason
from tollkeeper.cli.listing import AsJson, show_fields, show_json, show_list
from tollkeeper.cli.provider_options import (
    COST_HELP,
    NONE,
    AllModels,
    ApiVersion,
    InsecureHttp,
    Passes,
    ProviderName,
    Rejects,
    changed_limit_option,
    limit_in,
    limit_option,
    models_in,
    names_in,
    or_unset,
    tier_option,
    weight_option,
)
from tollkeeper.cli.provider_trials import say_trial
from tollkeeper.cli.provider_words import HEAD, details_fields, details_record, row_line, row_record
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.office.lists import ROWS_MOST
from tollkeeper.office.provider_care import (
    drain_provider,
    pause_provider,
    resume_provider,
    rotate_provider_key,
    try_provider,
)
from tollkeeper.office.provider_views import ProviderRow
from tollkeeper.office.provider_wishes import (
    NewProviderWish,
    ProviderChangeWish,
    ProviderKeyWish,
    ProviderReason,
    ProviderResumeWish,
    ProvidersWish,
    ProviderTrialWish,
    ProviderWish,
)
from tollkeeper.office.providers import (
    add_provider,
    change_provider,
    list_providers,
    remove_provider,
    show_provider,
)

provider_app = typer.Typer(help="Provider accounts: credentials at upstream providers.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(provider_app, name="provider")


@provider_app.command("add")
@command(ValueError)
def add(
    name: Annotated[str, typer.Argument(help="What to call it in logs and reports; never changes.")],
    base_url: Annotated[str, typer.Argument(help="Where it is: https://host/v1")],
    vendor: Annotated[
        str, typer.Option(help="Its wire format: openai (and anything compatible), azure, anthropic or gemini.")
    ] = "openai",
    tier: Annotated[int, tier_option()] = 1,
    weight: Annotated[int, weight_option()] = 1,
    rpm: Annotated[int | None, limit_option("Requests a minute.")] = None,
    tpm: Annotated[int | None, limit_option("Tokens a minute.")] = None,
    concurrency: Annotated[int | None, limit_option("Calls at once.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUR=THEIRS",
            help="A model it serves, and its name there; repeat it. Without: at the vendor's own address, the models "
            "of that vendor.",
        ),
    ] = None,
    all_models: AllModels = False,
    cost: Annotated[str, typer.Option(help=COST_HELP)] = "1",
    rejects: Rejects = None,
    passes: Passes = None,
    api_version: ApiVersion = None,
    insecure_http: InsecureHttp = False,
    tested: Annotated[
        bool, typer.Option("--tested", help="Make live calls first, and add it only if an answer comes.")
    ] = False,
    reason: MaybeReason = "",
) -> Coroutine[None, None, None]:
    """Add a provider account. Its key is read from the terminal or from standard input, never from the command line."""
    models = model_names(model) if model else None
    wish = NewProviderWish(
        name=name,
        base_url=base_url,
        key=_key(),
        vendor=vendor,
        tier=tier,
        weight=weight,
        requests_per_minute=rpm,
        tokens_per_minute=tpm,
        concurrency=concurrency,
        models=models,
        all_models=all_models,
        cost_multiplier=cost,
        rejects=rejects or [],
        passes=passes or [],
        api_version=api_version,
        insecure_http=insecure_http,
        tested=tested,
        reason=reason,
    )
    return _add(wish)


async def _add(wish: NewProviderWish) -> None:
    made = await perform(add_provider, wish)
    if made.trial is not None:
        say_trial(wish.name, made.trial)
    say(f"provider account {made.account} ({wish.name}) added; its key is sealed")
    if made.family is not None:
        say(f"It serves the models of {made.family} that are in the catalog, now or later.")


@provider_app.command("list")
@command(ValueError)
async def list_all(as_json: AsJson = False) -> None:
    """Every provider account: its place in the pool, how it is doing, and what it earned in the last 24 hours."""
    show_list(await _all_rows(), head=HEAD, line=row_line, record=row_record, as_json=as_json)


async def _all_rows() -> list[ProviderRow]:
    rows: list[ProviderRow] = []
    after: str | None = ""
    while after is not None:
        page = await perform(list_providers, ProvidersWish(limit=ROWS_MOST, after=after))
        rows += page.data
        after = page.next
    return rows


@provider_app.command("show")
@command(ValueError)
async def show(name: ProviderName, as_json: AsJson = False) -> None:
    """All that is kept about one provider account, but its key, and how it is doing."""
    details = await perform(show_provider, ProviderWish(name=name))
    if as_json:
        show_json(details_record(details))
    else:
        show_fields(details_fields(details))


@provider_app.command("set")
@command(ValueError)
def set_account(
    name: ProviderName,
    tier: Annotated[int | None, tier_option()] = None,
    weight: Annotated[int | None, weight_option()] = None,
    rpm: Annotated[str | None, changed_limit_option("Requests a minute.")] = None,
    tpm: Annotated[str | None, changed_limit_option("Tokens a minute.")] = None,
    concurrency: Annotated[str | None, changed_limit_option("Calls at once.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUR=THEIRS",
            help=f"A model it serves, and its name there; repeat it for all. '{NONE}': those of the vendor whose own "
            "address it has.",
        ),
    ] = None,
    all_models: AllModels = False,
    cost: Annotated[str | None, typer.Option(help=COST_HELP)] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Where it is: https://host/v1")] = None,
    with_key: Annotated[bool, typer.Option("--with-key", help="Ask for its key: another host needs it anew.")] = False,
    rejects: Rejects = None,
    passes: Passes = None,
    api_version: ApiVersion = None,
    insecure_http: InsecureHttp = False,
    reason: MaybeReason = "",
) -> Coroutine[None, None, None]:
    """Change a provider account; what is not named stays. Lists (--model, --rejects, --passes) are given anew as a
    whole. The word 'none' empties a list, takes a limit away, or goes back to the vendor's usual version."""
    wish = ProviderChangeWish(
        name=name,
        base_url=or_unset(base_url),
        key=_key() if with_key else UNSET,
        tier=or_unset(tier),
        weight=or_unset(weight),
        requests_per_minute=limit_in(rpm),
        tokens_per_minute=limit_in(tpm),
        concurrency=limit_in(concurrency),
        models=models_in(model),
        all_models=all_models,
        cost_multiplier=or_unset(cost),
        rejects=names_in(rejects),
        passes=names_in(passes),
        api_version=None if api_version == NONE else or_unset(api_version),
        insecure_http=insecure_http,
        reason=reason,
    )
    return _set_account(wish)


async def _set_account(wish: ProviderChangeWish) -> None:
    done = await perform(change_provider, wish)
    say(f"provider account {wish.name} is set" + ("" if done.changed else ", as it was before"))


@provider_app.command("rotate-key")
@command(ValueError)
def rotate_key(
    name: ProviderName,
    untested: Annotated[bool, typer.Option("--untested", help="Take the new key without asking the provider.")] = False,
    reason: MaybeReason = "",
) -> Coroutine[None, None, None]:
    """Give it another key, which the provider must accept. It is read from the terminal or from standard input. Calls
    under way end with the old one, new ones begin with the new one, on every node within two seconds."""
    return _rotate_key(ProviderKeyWish(name=name, key=_key(), untested=untested, reason=reason))


async def _rotate_key(wish: ProviderKeyWish) -> None:
    done = await perform(rotate_provider_key, wish)
    lifted = "; it is no longer suspended" if done.suspension_lifted else ""
    say(f"provider account {wish.name} has a new key, sealed{lifted}")
    say("Revoke the old one at the provider when the calls that began with it are over.")


@provider_app.command("pause")
@command(ValueError)
async def pause(name: ProviderName, reason: Reason) -> None:
    """Give it no more calls, on every node within two seconds, until it is resumed."""
    done = await perform(pause_provider, ProviderReason(name=name, reason=reason))
    _say_state(name, "paused", changed=done.changed)


@provider_app.command("drain")
@command(ValueError)
async def drain(name: ProviderName, reason: Reason) -> None:
    """Let the calls under way end and give it no more, to take it away afterwards."""
    done = await perform(drain_provider, ProviderReason(name=name, reason=reason))
    _say_state(name, "draining", changed=done.changed)


@provider_app.command("resume")
@command(ValueError)
async def resume(name: ProviderName, reason: MaybeReason = "") -> None:
    """Give it calls again, also if it is suspended: the next call will tell whether its key is accepted."""
    done = await perform(resume_provider, ProviderResumeWish(name=name, reason=reason))
    _say_state(name, "active", changed=done.changed)
    if done.suspension_lifted:
        say(f"the suspension of {name} is lifted")


@provider_app.command("remove")
@command(ValueError)
async def remove(name: ProviderName, reason: Reason) -> None:
    """Remove a provider account that is paused or drained, and its key with it. Its calls stay on record, and its name
    stays taken."""
    await perform(remove_provider, ProviderReason(name=name, reason=reason))
    say(f"provider account {name} is removed, and its key with it; revoke the key at the provider")


@provider_app.command("test")
@command(ValueError)
async def try_account(
    name: ProviderName,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Our id of the model to call. Without: the first that it serves.")
    ] = None,
) -> None:
    """Make live calls to it and say what works: its key, whole and streamed answers, tools, images, JSON. An accepted
    key lifts the account's suspension. Exit code 1 if the key is refused or no answer comes."""
    trial = await perform(try_provider, ProviderTrialWish(name=name, model=model))
    say_trial(name, trial)
    if not trial.answers:
        raise typer.Exit(1)


def _say_state(name: str, word: str, *, changed: bool) -> None:
    say(f"provider account {name} is {word}" + ("" if changed else ", as it was before"))


def _key() -> str:
    secret: str = typer.prompt("Provider key", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not secret.strip():
        raise Mistake("No provider key was given: type it when asked, or send it to standard input.")
    return secret.strip()
