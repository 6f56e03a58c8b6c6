"""Every refusal of the gateway, in one order for whatever is generated from them."""

from collections.abc import Iterator

from tollkeeper.core.errors import GatewayError


def refusals() -> list[type[GatewayError]]:
    """By status, then by code."""
    return sorted(_leaves(GatewayError), key=lambda refusal: (refusal.status, refusal.code))


def _leaves(of: type[GatewayError]) -> Iterator[type[GatewayError]]:
    for below in of.__subclasses__():
        yield from _leaves(below)
    if not of.__subclasses__():
        yield of
