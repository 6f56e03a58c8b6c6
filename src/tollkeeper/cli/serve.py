"""`serve`: the gateway."""

import logging
import logging.config
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import typer
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from tollkeeper.app.extras import missing_extra
from tollkeeper.app.first_look import DatabaseRole
from tollkeeper.app.gateway import gateway
from tollkeeper.app.journal import check_journal
from tollkeeper.cli.command import command
from tollkeeper.cli.descriptors import allowed_connections
from tollkeeper.cli.gateway_server import GatewayServer
from tollkeeper.cli.process import KILL_AFTER_SECONDS, LOGGING, need_database, need_peppers, need_port
from tollkeeper.cli.speak import Mistake, settings_or_complain
from tollkeeper.cli.startup_code import refuse_unknown_startup_code
from tollkeeper.core.errors import ForOperators
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.settings import BadSettings, Settings


def register(app: typer.Typer) -> None:
    app.command()(serve)


@command()
def serve() -> None:
    """Serve calls until stopped."""
    chosen = settings_or_complain()
    forbid_core_dumps(inspectable=chosen.inspectable)
    refuse_unknown_startup_code(chosen.startup_files)
    _need_what_serves(chosen)
    need_port(chosen.host, chosen.port, "TOLLKEEPER_PORT")
    need_port(chosen.metrics_host, chosen.metrics_port, "TOLLKEEPER_METRICS_PORT")
    need_peppers(chosen, DatabaseRole.GATEWAY)
    logging.config.dictConfig(LOGGING)
    need_database(chosen, DatabaseRole.GATEWAY)
    # A call under way has a connection to its caller and one to its provider.
    connections = allowed_connections(chosen.connections)
    logging.getLogger(__name__).info("node %s listens on http://%s:%d", chosen.node, chosen.host, chosen.port)
    GatewayServer(
        "tollkeeper.app.gateway:gateway",
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
            aside.submit(need_peppers, chosen, DatabaseRole.GATEWAY).result()
        return gateway(chosen)
    except (BadSettings, ForOperators, Mistake) as problem:
        logging.getLogger(__name__).error("a worker cannot begin: %s", problem)
        raise SystemExit(1) from None


def _need_what_serves(chosen: Settings) -> None:
    check_journal(chosen)
    if told := missing_extra(chosen):
        raise Mistake(told)
