"""A console on this machine with a customer to look at: for pictures and tests in a browser."""

import contextlib
import os
from collections.abc import Iterator, Mapping

import msgspec

from tollkeeper.demo.past.people import EMAIL
from tollkeeper.demo.past.story import Told
from tollkeeper.demo.site import demo_settings, furnish
from tools.node import Node
from tools.services.process import free_port

__all__ = ["EMAIL", "Console", "Running", "running"]

GATEWAY_PORT = "8080"


class Console(Node):
    """One `tollkeeper console`, from start to stop."""

    command = "console"

    def __init__(self, settings: Mapping[str, str]) -> None:
        port = settings.get("TOLLKEEPER_CONSOLE_PORT") or str(free_port())
        ports = {"TOLLKEEPER_PORT": port, "TOLLKEEPER_CONSOLE_PORT": port}
        # By name: browsers make no passkeys for an IP.
        super().__init__({"TOLLKEEPER_CONSOLE_URL": f"http://localhost:{port}"} | dict(settings) | ports)
        self.base = self.settings["TOLLKEEPER_CONSOLE_URL"]
        # Where calls go, which its pages tell.
        self.settings["TOLLKEEPER_PORT"] = settings.get("TOLLKEEPER_PORT") or GATEWAY_PORT


class Running(msgspec.Struct, frozen=True):
    base: str
    settings: dict[str, str]
    told: Told

    @property
    def account_id(self) -> int:
        return self.told.account_id


@contextlib.contextmanager
def running() -> Iterator[Running]:
    """Stores, schema, a customer with a past, and the console."""
    port = os.environ.get("TOLLKEEPER_CONSOLE_PORT", "")
    with demo_settings() as settings:
        told = furnish(settings)
        with Console(settings | {"TOLLKEEPER_CONSOLE_PORT": port}) as console:
            yield Running(console.base, settings, told)
