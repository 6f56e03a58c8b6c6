"""The demo's servers are those of tests and proofs, too; this is what they use of them."""

from tollkeeper.demo.servers.process import (
    READY_WITHIN_SECONDS,
    NotReadyInTime,
    Server,
    free_port,
    stop_in_order_when_terminated,
    wait_until,
    wait_until_async,
)

__all__ = [
    "READY_WITHIN_SECONDS",
    "NotReadyInTime",
    "Server",
    "free_port",
    "stop_in_order_when_terminated",
    "wait_until",
    "wait_until_async",
]
