"""What a request's head must have for us, beyond what the server asks of any (`server/rules`)."""

from tollkeeper.core.errors import MalformedHeader
from tollkeeper.edge.http.exchange import Exchange


def host_of(exchange: Exchange) -> str:
    """The host that is called. HTTP/1.0 may have come without."""
    host = exchange.header(b"host")
    if not host:
        raise MalformedHeader("The header 'host' is required.")
    return host
