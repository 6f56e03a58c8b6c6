"""The front as a real process, for tests: one `tollkeeper front` before a node."""

from collections.abc import Mapping

from tools.node import Node
from tools.services.process import free_port

# What a node must be told about the front before it.
BEHIND_A_FRONT = {"TOLLKEEPER_TRUSTED_PROXIES": "127.0.0.1"}


class Front(Node):
    """Asked like the node behind it."""

    command = "front"

    def __init__(self, node: Node, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(node.settings)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.settings |= {"TOLLKEEPER_FRONT_PORT": str(self.port), "TOLLKEEPER_DRAIN_SECONDS": "1"} | dict(
            settings or {}
        )
