"""The front: a process before the gateway that lets only well-formed requests through, and few connections per IP."""

from tollkeeper.front.door import Door, DoorLimits, GatewayAddress

__all__ = ["Door", "DoorLimits", "GatewayAddress"]
