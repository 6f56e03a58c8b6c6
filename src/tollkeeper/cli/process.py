"""Running the service: `serve`, `migrate`, `settings`."""

import asyncio
import contextlib
import logging
import logging.config
import signal
import socket
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import msgspec
import typer
import uvloop
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from tollkeeper.app import (
    DatabaseRole,
    check_journal,
    first_look,
    gateway,
    missing_extra,
    pepper_trouble,
    settings_in_force,
)
from tollkeeper.app import console as console_application
from tollkeeper.app import front as run_front
from tollkeeper.app import work as run_jobs
from tollkeeper.cli.command import command
from tollkeeper.cli.descriptors import allowed_connections
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.gateway_server import GatewayServer
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core.errors import ForOperators
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.settings import BadSettings, Settings

# What stopping may take beyond the calls under way: their last words, and the books.
KILL_AFTER_SECONDS = 30


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
    app.command()(console)
    app.command()(migrate)
    app.command()(settings)


@command()
def serve() -> None:
    """Serve calls until stopped."""
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    _need_what_serves(chosen)
    _need_port(chosen.host, chosen.port, "TOLLKEEPER_PORT")
    _need_port(chosen.metrics_host, chosen.metrics_port, "TOLLKEEPER_METRICS_PORT")
    _need_peppers(chosen, DatabaseRole.GATEWAY)
    logging.config.dictConfig(LOGGING)
    _need_database(chosen, DatabaseRole.GATEWAY)
    # A call under way has a connection to its caller and one to its provider.
    connections = allowed_connections(chosen.connections)
    logging.getLogger(__name__).info("node %s listens on http://%s:%d", chosen.node, chosen.host, chosen.port)
    GatewayServer(
        "tollkeeper.app:gateway",
        renewed=gateway_as_set,
        address=chosen.host,
        port=chosen.port,
        interface=Interfaces.ASGI,
        workers=chosen.workers,
        websockets=False,
        http=HTTPModes.http1,
        # Granian counts connections here, not requests: idle keep-alive connections are connections too.
        backpressure=connections,
        http1_settings=HTTP1Settings(header_read_timeout=round(chosen.idle_seconds * 1_000)),
        workers_kill_timeout=round(chosen.lame_duck_seconds + chosen.drain_seconds + KILL_AFTER_SECONDS),
        respawn_failed_workers=True,
        log_dictconfig=LOGGING,
        # The server sets its own logger's level by this, whatever the configuration says.
        log_level=LogLevels.warning,
    ).serve(target_loader=partial(gateway, chosen), wrap_loader=False)


def gateway_as_set() -> Any:
    """What a worker serves that follows another after SIGHUP: by the settings of that moment, if the node could begin
    with them."""
    # Whoever tells all processes of a node means the main one.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        chosen = settings_or_complain()
        refuse_unknown_startup_code(chosen.startup_files)
        _need_what_serves(chosen)
        with ThreadPoolExecutor(1) as aside:
            # Beside the event loop that is made for this process already.
            aside.submit(_need_peppers, chosen, DatabaseRole.GATEWAY).result()
        return gateway(chosen)
    except (BadSettings, ForOperators, Mistake) as problem:
        logging.getLogger(__name__).error("a worker cannot begin: %s", problem)
        raise SystemExit(1) from None


def _need_what_serves(chosen: Settings) -> None:
    check_journal(chosen)
    if told := missing_extra(chosen):
        raise Mistake(told)


@command()
def front() -> None:
    """Stand before `serve`: let only well-formed requests through, and few connections per IP."""
    chosen = settings_or_complain()
    refuse_unknown_startup_code(chosen.startup_files)
    _need_port(chosen.front_host, chosen.front_port, "TOLLKEEPER_FRONT_PORT")
    logging.config.dictConfig(LOGGING)
    allowed_connections(chosen.connections)
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
    _need_port(chosen.metrics_host, chosen.work_metrics_port, "TOLLKEEPER_WORK_METRICS_PORT")
    _need_database(chosen, DatabaseRole.WORKER)
    asyncio.run(_until_stopped(run_jobs(chosen), f"jobs of {chosen.node} run"))


async def _until_stopped(work: Coroutine[None, None, None], begun: str) -> None:
    """Do `work`, and say that it has begun once it can be stopped in order."""
    working = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        # By the message, whoever is cancelled can tell Ctrl-C from a service manager.
        asyncio.get_running_loop().add_signal_handler(number, working.cancel, number)
    logging.getLogger(__name__).info(begun)
    with contextlib.suppress(asyncio.CancelledError):
        await working


@command()
def console() -> None:
    """Serve the customers' console until stopped."""
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    _need_port(chosen.console_host, chosen.console_port, "TOLLKEEPER_CONSOLE_PORT")
    _need_port(chosen.metrics_host, chosen.console_metrics_port, "TOLLKEEPER_CONSOLE_METRICS_PORT")
    _need_peppers(chosen, DatabaseRole.CONSOLE)
    logging.config.dictConfig(LOGGING)
    _need_database(chosen, DatabaseRole.CONSOLE)
    # A chat has a connection to its reader and one to the gateway.
    connections = allowed_connections(chosen.connections)
    where = f"http://{chosen.console_host}:{chosen.console_port}"
    logging.getLogger(__name__).info("the console listens on %s", where)
    Granian(
        "tollkeeper.app:console",
        address=chosen.console_host,
        port=chosen.console_port,
        interface=Interfaces.ASGI,
        workers=chosen.console_workers,
        websockets=False,
        http=HTTPModes.http1,
        backpressure=connections,
        http1_settings=HTTP1Settings(header_read_timeout=round(chosen.idle_seconds * 1_000)),
        workers_kill_timeout=KILL_AFTER_SECONDS,
        respawn_failed_workers=True,
        log_dictconfig=LOGGING,
        # The server sets its own logger's level by this, whatever the configuration says.
        log_level=LogLevels.warning,
    ).serve(target_loader=partial(console_application, chosen), wrap_loader=False)


@command()
def migrate(
    roles_only: Annotated[
        bool,
        typer.Option("--roles-only", help="Make the roles that a dump needs before it is restored, and nothing else."),
    ] = False,
) -> Coroutine[None, None, None] | None:
    """Bring the database's schema up to date."""
    # Alembic and SQLAlchemy take 0.4 s and 30 MB to load; every other command does without them.
    from tollkeeper.app import schema  # noqa: PLC0415

    if roles_only:
        return _say_done(schema.make_roles(settings_or_complain()))
    done = schema.migrate(settings_or_complain(), say)
    if done.grants:
        say("This login may migrate, but not serve. Let it, as an administrator of the server, or serve with others:")
        for line in done.grants:
            say(f"    {line}")
    say(f"The schema is at revision {schema.newest_revision()}" + ("." if done.steps else ", as it was before."))
    return None


async def _say_done(making: Coroutine[None, None, None]) -> None:
    await making
    say("The roles are there. Restore the dump into an empty database, then run 'tollkeeper migrate'.")


@command()
def settings(as_json: AsJson = False) -> None:
    """Show every setting, its value, and what it is for."""
    show_list(
        settings_in_force(settings_or_complain()),
        head=("variable", "value", "set by", "what it is for"),
        line=lambda row: (row.variable, row.value, row.set_by, row.what_for),
        record=lambda row: fields_of(row, "variable", "value", "set_by", "what_for"),
        as_json=as_json,
    )


def _need_database(chosen: Settings, part: DatabaseRole) -> None:
    """End here over a mistake that waiting does not mend; say so where the database is only away."""
    trouble = asyncio.run(first_look(chosen, part))
    if trouble is None:
        return
    if trouble.ends_processes:
        raise Mistake(trouble.told, ExitCode.STORE)
    logging.getLogger(__name__).warning("%s It is waited for.", trouble.told)


def _need_port(host: str, port: int, variable: str) -> None:
    if port and _port_is_taken(host, port):
        raise Mistake(f"Port {port} of {host} is taken. Stop what listens there, or set {variable}.")


def _need_peppers(chosen: Settings, part: DatabaseRole) -> None:
    if trouble := asyncio.run(pepper_trouble(chosen, part)):
        raise Mistake(trouble)


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
