"""What a caller asked for: the fields of a chat request that an answer depends on; all others are ignored."""

from collections.abc import Iterator

import msgspec


class Part(msgspec.Struct):
    """One part of a message: text, or an image, a sound, a file, of which nothing is read."""

    type: str = ""
    text: str | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[Part] | None = None
    name: str | None = None

    def texts(self) -> Iterator[str]:
        if isinstance(self.content, str):
            yield self.content
        else:
            yield from (part.text for part in self.content or () if part.type == "text" and part.text)


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Function(msgspec.Struct):
    name: str
    parameters: dict[str, object] | None = None


class Tool(msgspec.Struct):
    function: Function | None = None


class Order(msgspec.Struct):
    """A chat request."""

    model: str
    messages: list[Message]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    tools: msgspec.Raw = msgspec.Raw()

    @property
    def choices(self) -> int:
        return 1 if self.n is None else self.n

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def most_tokens(self) -> int | None:
        """The cap of one choice."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def tools_text(self) -> str:
        """The JSON text of `tools`, byte for byte as it was sent."""
        sent = bytes(self.tools)
        return "" if sent in (b"", b"null") else sent.decode()

    def first_function(self) -> Function | None:
        text = self.tools_text
        tools = _tools.decode(text) if text else []
        return tools[0].function if tools else None

    def last_user_text(self) -> str:
        for message in reversed(self.messages):
            if message.role == "user":
                return "\n".join(message.texts())
        return ""


_orders = msgspec.json.Decoder(Order)
_tools = msgspec.json.Decoder(list[Tool])


def read_order(body: bytes) -> Order:
    """Raise msgspec.ValidationError for a wrong field, msgspec.DecodeError for what is not JSON."""
    order = _orders.decode(body)
    if not 1 <= order.choices <= 128:
        raise msgspec.ValidationError("Expected `n` between 1 and 128")
    if order.most_tokens is not None and order.most_tokens < 1:
        raise msgspec.ValidationError("Expected a cap of at least 1 token")
    # Tools are kept as sent and read only where they are used: what is wrong with them is to be told now.
    order.first_function()
    return order
