"""The demo's servers are those of tests and proofs, too; this is what they use of them."""

from tollkeeper.demo.servers.process import (
    Server,
    free_port,
    stop_in_order_when_terminated,
    wait_until,
    wait_until_async,
)

__all__ = ["Server", "free_port", "stop_in_order_when_terminated", "wait_until", "wait_until_async"]
