"""What a refusal means, by its code: for people who look at it later."""

import inspect
from collections.abc import Iterator
from functools import cache

from tollkeeper.core.errors import GatewayError


@cache
def words_for(code: str) -> str:
    """The message of the refusal with this code; empty where no refusal of this version has it."""
    for refusal in _refusals(GatewayError):
        if refusal.code == code:
            return " ".join(inspect.cleandoc(refusal.__doc__ or "").split())
    return ""


def _refusals(of: type[GatewayError]) -> Iterator[type[GatewayError]]:
    """The most particular ones first: those above them tell less."""
    for below in of.__subclasses__():
        yield from _refusals(below)
    yield of
