"""A whole Tollkeeper on this machine: stores, provider, a customer with a past, gateway, jobs, console.

Rules of this file
1. What could keep it from running is looked at before anything is started.
2. However it ends, nothing stays behind: what is started is stopped by the way out, and has a watch besides
   (`servers.orphans`), should this process be killed. What was written into a database of somebody else's is told.
"""

import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import msgspec

from tollkeeper.demo import ports
from tollkeeper.demo.child import DemoProcess, is_answered
from tollkeeper.demo.leaving import ignore_signals, left_in_order
from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.providers import LISTENS, REAL_MODEL, PlayedProvider, add_providers, check_real_model
from tollkeeper.demo.site import check_database, check_programs, demo_settings, make_schema, what_is_left, write_past
from tollkeeper.demo.welcome import DemoPlace, welcome

GATEWAY_PORT, CONSOLE_PORT = 8080, 8090
QUARTER = 0.25
# How fast the demo provider speaks.
CHUNK_MS = 30


class DemoWish(msgspec.Struct, frozen=True, kw_only=True):
    # None where the usual one, or else any, will do.
    port: int | None = None
    console_port: int | None = None
    real_model: bool = False


class DemoProgress:
    """What is being done now, with the seconds since the beginning."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._begun = time.monotonic()
        self._reported = 0.0

    def __call__(self, what: str) -> None:
        self._say(f"{time.monotonic() - self._begun:5.1f} s  {what}")

    def of_the_past(self, part: float) -> None:
        """At every quarter."""
        if part >= self._reported + QUARTER:
            self._reported = part // QUARTER * QUARTER
            self(f"  {self._reported:.0%} of it are written")


def run_demo(wish: DemoWish, say: Callable[[str], None]) -> None:
    """Run until Ctrl-C, SIGTERM or SIGHUP. Raise CannotRun, with what to do, where something is missing or ends."""
    _check(wish)
    settings = {
        "TOLLKEEPER_PORT": str(ports.choose(wish.port, GATEWAY_PORT, "--port")),
        "TOLLKEEPER_CONSOLE_PORT": str(ports.choose(wish.console_port, CONSOLE_PORT, "--console-port")),
        "TOLLKEEPER_WORKERS": "1",
    }
    # By name: browsers make no passkeys for an IP.
    settings["TOLLKEEPER_CONSOLE_URL"] = f"http://localhost:{settings['TOLLKEEPER_CONSOLE_PORT']}"
    with left_in_order(say), ExitStack() as stack:
        try:
            children = _open(stack, settings, wish, say)
            stack.callback(_ask_all_to_end, children)
            _wait_for(children)
        finally:
            ignore_signals()


def _check(wish: DemoWish) -> None:
    if not hasattr(os, "pidfd_open"):
        raise CannotRun("The demo needs Linux. (The service itself does not.)")
    if wish.real_model:
        check_real_model()
    check_programs()


def _open(
    stack: ExitStack, settings: dict[str, str], wish: DemoWish, say: Callable[[str], None]
) -> Sequence[DemoProcess]:
    """Start everything, and say how to use it once it can be used."""
    progress = DemoProgress(say)
    progress("Starting PostgreSQL and Redis.")
    settings |= stack.enter_context(demo_settings())
    folder = Path(settings["TOLLKEEPER_JOURNAL_FOLDER"]).parent
    check_database(settings)
    stack.callback(_say_what_is_left, settings, say)
    progress("Making the schema.")
    make_schema(settings)
    progress("Writing two months of a customer's life: top-ups, keys, more than a thousand calls.")
    told = write_past(settings, progress.of_the_past)
    progress("Starting the provider" + (f" and {REAL_MODEL}." if wish.real_model else "."))
    provider = PlayedProvider(folder, chunk_ms=CHUNK_MS, real_model=wish.real_model)
    children = [stack.enter_context(child) for child in provider.children]
    add_providers(settings, provider)
    progress("Starting the gateway, the jobs and the console.")
    own = [stack.enter_context(child) for child in _own_processes(folder, settings)]
    for child in own:
        child.wait_until_ready()
    progress("Ready.")
    say(welcome(DemoPlace.of(settings, folder, real_model=wish.real_model), told))
    return [*children, *own]


def _say_what_is_left(settings: Mapping[str, str], say: Callable[[str], None]) -> None:
    if (left := what_is_left(settings)) is not None:
        say(left)


def _own_processes(folder: Path, settings: Mapping[str, str]) -> Sequence[DemoProcess]:
    port, console_port = int(settings["TOLLKEEPER_PORT"]), int(settings["TOLLKEEPER_CONSOLE_PORT"])

    # Its own word first: should somebody have taken the port meanwhile, they would answer for it.
    def serves(said: str) -> bool:
        return LISTENS in said and is_answered(port, "/readyz")

    def shows(said: str) -> bool:
        return LISTENS in said and is_answered(console_port, "/readyz")

    # No balancer has to notice that it goes.
    served = {**settings, "TOLLKEEPER_LAME_DUCK_SECONDS": "0"}
    return (
        DemoProcess("serve", settings=served, log=folder / "gateway.log", is_ready=serves),
        DemoProcess("work", settings=settings, log=folder / "jobs.log", is_ready=lambda said: "jobs of " in said),
        DemoProcess("console", settings=settings, log=folder / "console.log", is_ready=shows),
    )


def _wait_for(children: Sequence[DemoProcess]) -> NoReturn:
    """Until one of them ends, which none should. Raise CannotRun then."""
    with ExitStack() as stack:
        descriptors = [child.descriptor() for child in children]
        for descriptor in descriptors:
            stack.callback(os.close, descriptor)
        select.select(descriptors, [], [])
    for child in children:
        child.check()
    raise CannotRun("A part of the demo ended.")


def _ask_all_to_end(children: Sequence[DemoProcess]) -> None:
    """So that they end side by side."""
    for child in children:
        child.ask_to_end()
