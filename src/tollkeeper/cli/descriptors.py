"""How many connections a process may keep."""

import logging
import resource

from tollkeeper.server.listener import ConnectionLimits
from tollkeeper.settings import Settings

SPARE_DESCRIPTORS = 256
LEAST_CONNECTIONS = 128


def connection_limits(chosen: Settings) -> ConnectionLimits:
    """How many connections each worker keeps. Whoever has a call has one to us, and we have one for it."""
    return ConnectionLimits(
        connections=allowed_connections(chosen.connections),
        idle_seconds=chosen.idle_seconds,
        crowded_idle_seconds=chosen.crowded_idle_seconds,
    )


def allowed_connections(wanted: int) -> int:
    """How many connections can be kept, of which each takes two descriptors. The usual limit of 1,024 descriptors is
    there for programs that use select, and is raised as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = 2 * wanted + SPARE_DESCRIPTORS
    if soft < descriptors:
        soft = descriptors if hard == resource.RLIM_INFINITY else min(descriptors, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections_within(soft, wanted)


def connections_within(descriptors: int, wanted: int) -> int:
    """As many as there are descriptors for. A few less than wanted are no trouble; few are told."""
    allowed = min(wanted, max(LEAST_CONNECTIONS, (descriptors - SPARE_DESCRIPTORS) // 2))
    if allowed * 2 < wanted:
        logging.getLogger(__name__).warning(
            "%d connections at most, instead of %d: only %d descriptors are allowed (ulimit -n)",
            allowed,
            wanted,
            descriptors,
        )
    return allowed
