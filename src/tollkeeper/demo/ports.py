"""Where the demo listens. It is looked at before anything is started: whoever has a port keeps it."""

import socket

from tollkeeper.demo.problem import CannotRun
from tollkeeper.demo.servers.process import free_port

HOST = "127.0.0.1"


def choose(wanted: int | None, usual: int, option: str) -> int:
    """The wanted port; without one the usual, or else a free one. Raise CannotRun where a wanted one is taken."""
    if wanted is None:
        return free_port() if is_taken(usual) else usual
    if is_taken(wanted):
        raise CannotRun(f"Port {wanted} is taken: stop what listens there, or give another one with {option}.")
    return wanted


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False
