"""Which command is in which file, and what it is for: enough to list all commands without loading any.

Rules of this file
1. A file of commands is imported when one of its commands is used, or when its own help is asked for.
2. The words here are the commands' own; a test compares them.
"""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

FAMILIES = {
    "serve": ("serve", "Serve calls until stopped."),
    "front": ("front", "Stand before `serve`: let only well-formed requests through, and few connections per IP."),
    "work": (
        "work",
        "Run the jobs beside the calls until stopped: close stale holds, expire lots, prepare tables, test keys.",
    ),
    "console": ("console", "Serve the customers' console until stopped."),
    "migrate": ("migrate", "Bring the database's schema up to date."),
    "settings": ("settings", "Show every setting, its value, and what it is for."),
    "doctor": (
        "doctor",
        "Say what to do about stores, roles, clocks, schema, disk, mail, providers. Exit code 1: something is broken.",
    ),
    "credit": ("customers", "Add prepaid quota to an account."),
    "redeem": ("codes", "Redeem a code for an account. It is read from the terminal or from standard input."),
    "faucet": ("partner", "Give an account its free key. It is shown once, now."),
    "statement": (
        "lots",
        "What came to an account and what went in a month, by what it was for.",
    ),
    "jobs": (
        "jobs",
        "What is done beside the calls: when last, how long it took, what came of it, and when it is due.",
    ),
    "nodes": (
        "jobs",
        "The nodes on record: which are alive, their version, since when, and how many processes they have.",
    ),
    "house": (
        "house",
        "How the service is at this moment: open holds, the stores, our own latency, and what waits for staff.",
    ),
    "attention": (
        "house",
        "What wants a person now: books that are not clean, provider accounts that are out, jobs that are late, …",
    ),
    "figures": ("house", "Calls, failures, latency, revenue, cost and margin of the last hours."),
    "account": ("customers", "Customers' accounts."),
    "key": ("keys", "API keys."),
    "login": ("logins", "Who may act for accounts."),
    "codes": ("codes", "Redemption codes."),
    "top-up": ("top_ups", "Top-ups: what redeemed codes became."),
    "partner": ("partner", "The partner plan: invitations, gift codes and cash."),
    "group": ("groups", "Groups of accounts: what they may call in a minute."),
    "model": ("catalog", "The model catalog."),
    "price": ("prices", "The price book."),
    "lot": ("lots", "Quota lots."),
    "provider": ("providers", "Provider accounts: credentials at upstream providers."),
    "pepper": ("rotation", "Peppers: secrets under which API keys are digested."),
    "envelope": (
        "rotation",
        "Envelope keys: secrets that seal provider keys, second factors and closed days of the books.",
    ),
    "announce": ("announcements", "What the console tells everybody."),
    "brand": ("brand", "The brand: what the service is called and looks like, and its legal pages."),
    "webhook": ("webhooks", "Webhooks: addresses that are told of events."),
    "ban": ("abuse", "Banned clients."),
    "restriction": ("abuse", "Accounts that were at peak for too long, or that staff restricted."),
    "books": ("books", "The books."),
    "call": ("calls", "Single calls."),
    "dispute": ("disputes", "Charges that customers hold to be wrong."),
    "reading": ("readings", "Staff who read the console as a customer."),
    "reset": ("factor_resets", "Second factors and passkeys that staff were asked to drop."),
    "usage": ("usage", "The usage log."),
    "operator-key": ("operator_keys", "Operator keys: what staff and their programs act with."),
    "audit": ("audit", "The audit trail: what was done, by whom and why."),
    "demo": ("demo", "A whole Tollkeeper to try on this machine."),
}


def light(help_option: Any) -> Any:
    """Typer loads pydantic, half of what it loads, for an option that is not given and has no default."""
    help_option.default = False
    return help_option


class LightCommand(TyperCommand):
    """A command that loads little."""

    def get_help_option(self, ctx: Any) -> Any:
        return light(super().get_help_option(ctx))


class Families(TyperGroup):
    """The commands that were registered, then those of `FAMILIES`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands.update({name: TyperCommand(name, help=told) for name, (_, told) in FAMILIES.items()})

    def get_params(self, ctx: Any) -> Any:
        """All that stand before a command are flags: help, version, completion."""
        return [light(option) for option in super().get_params(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return loaded(cmd_name) if cmd_name in FAMILIES else super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Typer asks for every command that it lists: let it ask a group that loads nothing."""
        listed: dict[str, Any] = dict(self.commands)
        TyperGroup(name=self.name, commands=listed, params=self.params, help=self.help).format_help(ctx, formatter)


def loaded(name: str) -> Any:
    """The command or group of commands itself, from its file."""
    shelf = typer.Typer()
    import_module(f"tollkeeper.cli.{FAMILIES[name][0]}").register(shelf)
    return get_group(shelf).commands[name]
