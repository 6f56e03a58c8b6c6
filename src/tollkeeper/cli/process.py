"""Running the service: `serve`, `migrate`, `settings`."""

import asyncio
import contextlib
import logging
import logging.config
import os
import resource
import signal
import socket
from collections.abc import Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import typer
import uvloop
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from rich.table import Table

from tollkeeper.app import check_journal, gateway
from tollkeeper.app import front as run_front
from tollkeeper.app import work as run_jobs
from tollkeeper.cli.command import command
from tollkeeper.cli.speak import Mistake, say, settings_or_complain, show
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.settings import PREFIX, Secret, description, sources

# What stopping may take beyond the calls under way: their last words, and the books.
KILL_AFTER_SECONDS = 30
SPARE_DESCRIPTORS = 256


class JsonLines(logging.Formatter):
    """Log records of everything but calls, one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return msgspec.json.encode(line).decode()


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "tollkeeper.cli.process.JsonLines"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"_granian": {"level": "WARNING", "propagate": True, "handlers": []}},
}


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(front)
    app.command()(work)
    app.command()(migrate)
    app.command()(settings)


@command()
def serve() -> None:
    """Serve calls until stopped."""
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    check_journal(chosen)
    _need_port(chosen.host, chosen.port, "TOLLKEEPER_PORT")
    logging.config.dictConfig(LOGGING)
    # A call under way has a connection to its caller and one to its provider.
    _allow_descriptors(2 * chosen.connections + SPARE_DESCRIPTORS)
    logging.getLogger(__name__).info("node %s listens on http://%s:%d", chosen.node, chosen.host, chosen.port)
    Granian(
        "tollkeeper.app:gateway",
        address=chosen.host,
        port=chosen.port,
        interface=Interfaces.ASGI,
        workers=chosen.workers,
        websockets=False,
        http=HTTPModes.http1,
        # Granian counts connections here, not requests: idle keep-alive connections are connections too.
        backpressure=chosen.connections,
        http1_settings=HTTP1Settings(header_read_timeout=round(chosen.idle_seconds * 1_000)),
        workers_kill_timeout=round(chosen.drain_seconds + KILL_AFTER_SECONDS),
        respawn_failed_workers=True,
        log_dictconfig=LOGGING,
    ).serve(target_loader=partial(gateway, chosen), wrap_loader=False)


@command()
def front() -> None:
    """Stand before `serve`: let only well-formed requests through, and few connections per IP."""
    chosen = settings_or_complain()
    refuse_unknown_startup_code(chosen.startup_files)
    _need_port(chosen.front_host, chosen.front_port, "TOLLKEEPER_FRONT_PORT")
    logging.config.dictConfig(LOGGING)
    _allow_descriptors(2 * chosen.connections + SPARE_DESCRIPTORS)
    where = f"{chosen.front_host}:{chosen.front_port}, before {chosen.host}:{chosen.port}"
    uvloop.run(_until_stopped(run_front(chosen), f"the front listens on {where}"))


@command()
def work() -> None:
    """Run the jobs beside the calls until stopped: close stale holds, expire lots, prepare tables, test keys."""
    logging.config.dictConfig(LOGGING)
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    check_journal(chosen)
    asyncio.run(_until_stopped(run_jobs(chosen), f"jobs of {chosen.node} run"))


async def _until_stopped(work: Coroutine[None, None, None], begun: str) -> None:
    """Do `work`, and say that it has begun once it can be stopped in order."""
    working = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    logging.getLogger(__name__).info(begun)
    with contextlib.suppress(asyncio.CancelledError):
        await working


@command()
def migrate() -> None:
    """Bring the database's schema up to date."""
    # Alembic and SQLAlchemy take 0.4 s and 30 MB to load; every other command does without them.
    from tollkeeper.storage import schema  # noqa: PLC0415

    schema.migrate(settings_or_complain().database_url.reveal())
    say(f"The schema is at revision {schema.newest_revision()}.")


@command()
def settings() -> None:
    """Show every setting, its value, and what it is for."""
    chosen = settings_or_complain()
    table = Table("variable", "value", "set by", "what it is for")
    for name, source in sources(os.environ).items():
        table.add_row(PREFIX + name.upper(), _shown(getattr(chosen, name)), source, description(name))
    show(table)


def _shown(value: object) -> str:
    if isinstance(value, Secret):
        return repr(value)
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _allow_descriptors(wanted: int) -> None:
    """Every connection is a descriptor, and the usual limit of 1,024 is there for programs that use select."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < wanted:
        logging.getLogger(__name__).warning("only %d descriptors are allowed; %d are wanted (ulimit -n)", soft, wanted)


def _need_port(host: str, port: int, variable: str) -> None:
    if _port_is_taken(host, port):
        raise Mistake(f"Port {port} of {host} is taken. Stop what listens there, or set {variable}.")


def _port_is_taken(host: str, port: int) -> bool:
    """Ask before listening: the server shares its port between workers, and so would share it with a stranger."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False
