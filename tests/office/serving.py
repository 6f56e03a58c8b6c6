"""The operator API as it is deployed: a console of its own, reached over the network by name and by operator key."""

import re

import msgspec

from tests.command_line import tollkeeper
from tollkeeper.core.people.operator_keys import Scope

KEY = re.compile(r"op-[0-9A-Za-z]{48}")


class Served(msgspec.Struct, frozen=True):
    """A console, the settings it runs with, and an operator key of every scope."""

    base: str
    port: int
    settings: dict[str, str]
    keys: dict[Scope, str]

    def remote(self, scope: Scope) -> dict[str, str]:
        """The settings of a laptop of staff."""
        return {"TOLLKEEPER_OPERATOR_URL": self.base, "TOLLKEEPER_OPERATOR_KEY": self.keys[scope]}


def made_key(settings: dict[str, str], name: str, *more: str) -> str:
    made = tollkeeper(settings, "operator-key", "create", name, *more)
    assert made.returncode == 0, made.stderr
    found = KEY.search(made.stdout)
    assert found is not None, made.stdout
    return found[0]
