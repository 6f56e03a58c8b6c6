"""The front: a process before the gateway that lets only well-formed requests through, and few connections per IP."""

from tollkeeper.front.door import Door, Gate, Limits

__all__ = ["Door", "Gate", "Limits"]
