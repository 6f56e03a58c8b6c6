"""A prompt cache for each account: how much of a request's beginning the account was sent before."""

from hashlib import blake2b

from tollkeeper_simulator.order import Asked
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.tokens import count_message

# The headers in which one vendor or another has the key of an account.
KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
BEGINNINGS_MOST = 100_000


class PromptCache:
    """Digests of beginnings, oldest first; nothing that was said is kept."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def known_tokens(self, request: Request, order: Asked) -> int:
        """The tokens of the first messages, as many as the account was sent before. All are known from now on."""
        key = "\0".join(request.headers.get(name, "") for name in KEY_HEADERS)
        digest = blake2b(f"{key}\0{order.model}\0{order.tools_text}".encode(errors="surrogatepass"), digest_size=16)
        counted = known = 0
        for message in order.messages:
            text = "\0".join((message.role, *message.texts()))
            digest.update(f"\1{len(text)}\0{text}".encode(errors="surrogatepass"))
            counted += count_message(message)
            if digest.digest() in self._known:
                known = counted
            self._known[digest.digest()] = None
        while len(self._known) > BEGINNINGS_MOST:
            del self._known[next(iter(self._known))]
        return known
