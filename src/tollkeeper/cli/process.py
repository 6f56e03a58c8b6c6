"""What every process of the service does when it begins: look for mistakes that waiting does not mend, and log."""

import asyncio
import contextlib
import errno
import logging
import logging.config
import signal
import socket
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import msgspec

from tollkeeper.app.first_look import DatabaseRole, first_look
from tollkeeper.app.rotation import pepper_trouble
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.speak import Mistake
from tollkeeper.settings import Settings

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
}


async def until_stopped(work: Coroutine[None, None, None], begun: str) -> None:
    """Do `work`, and say that it has begun once it can be stopped in order."""
    working = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        # By the message, whoever is cancelled can tell Ctrl-C from a service manager.
        asyncio.get_running_loop().add_signal_handler(number, working.cancel, number)
    logging.getLogger(__name__).info(begun)
    with contextlib.suppress(asyncio.CancelledError):
        await working


def need_database(chosen: Settings, part: DatabaseRole) -> None:
    """End here over a mistake that waiting does not mend; say so where the database is only away."""
    trouble = asyncio.run(first_look(chosen, part))
    if trouble is None:
        return
    if trouble.ends_processes:
        raise Mistake(trouble.told, ExitCode.STORE)
    logging.getLogger(__name__).warning("%s It is waited for.", trouble.told)


def bound(host: str, port: int, variable: str) -> socket.socket:
    """A socket for the port. Nobody can connect yet."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as problem:
        made.close()
        if problem.errno == errno.EADDRINUSE:
            raise Mistake(f"Port {port} of {host} is taken. Stop what listens there, or set {variable}.") from None
        raise Mistake(f"Port {port} of {host} cannot be listened on: {problem.strerror}. Set {variable}.") from None
    return made


def need_port(host: str, port: int, variable: str) -> None:
    """Ask before it is listened on, by processes that would complain later, and each for itself."""
    if port:
        bound(host, port, variable).close()


def need_peppers(chosen: Settings, part: DatabaseRole) -> None:
    if trouble := asyncio.run(pepper_trouble(chosen, part)):
        raise Mistake(trouble)
