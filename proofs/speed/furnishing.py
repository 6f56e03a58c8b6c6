"""Furnish one state of the project for a comparison: schema, model, provider account, and customers with a key each.

Run as a file by the state's interpreter path (PYTHONPATH), so that `tollkeeper` and `tools.node` are the state's own:
its settings and its schema may be others than ours. It keeps to the command line, which changes least; the commands run
in this one process, because starting two hundred would take minutes. Settings and address on its input, settings and
keys on its output, both JSON.
"""

import contextlib
import io
import json
import os
import sys

from tollkeeper.__main__ import main as tollkeeper
from tools.node import own_deployment

# Limits are kept and never met.
LIMITS = ("--key-rate", "1000000", "--rate", "1000000")
USD_EACH = "10000"


def command(*arguments: str, stdin: str = "") -> str:
    """What a command prints; it must succeed."""
    sys.argv, sys.stdin = ["tollkeeper", *arguments], io.StringIO(stdin)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            tollkeeper()
        except SystemExit as ended:
            if ended.code:
                raise SystemExit(f"tollkeeper {' '.join(arguments)} ended with {ended.code}") from None
    return printed.getvalue()


def furnish(model: str, upstream: str, provider_key: str) -> None:
    command("migrate")
    command("group", "set", "standard", *LIMITS)
    command("model", "add", model, "--multiplier", "1.25", "--completion", "4")
    command("provider", "add", "simulator", upstream, "--all-models", stdin=provider_key)


def a_customer(number: int) -> str:
    account = command("account", "create", f"customer {number}").split()[1]
    command("credit", account, USD_EACH)
    return command("key", "create", account, "key").splitlines()[1]


def main() -> None:
    asked = json.load(sys.stdin)
    settings = own_deployment() | asked["settings"]
    os.environ.update(settings | {"COLUMNS": "200"})
    furnish(asked["model"], asked["upstream"], asked["provider_key"])
    keys = [a_customer(number) for number in range(asked["customers"])]
    print(json.dumps({"settings": settings, "keys": keys}))


if __name__ == "__main__":
    main()
