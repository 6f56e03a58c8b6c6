"""What a caller asked for: the fields of a request that an answer depends on; all others are ignored.

`Asked` is what any format must tell, `Order` is OpenAI's request as it is sent. The formats that have checked a request
field by field tell what was in it as a `CheckedOrder`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol

import msgspec

# Of JSON.
Schema = dict[str, object]
ANY_OBJECT: Schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
# Where a direction for one turn of a conversation begins.
TURN = "[[turn="


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


class Function(msgspec.Struct):
    name: str
    parameters: dict[str, object] | None = None


class Manner(NamedTuple):
    """How a format words what is said."""

    shows_thoughts: bool = False
    # Thoughts of a caller who wants some and does not direct how many.
    thoughts_unasked: int = 0
    # A tool's arguments: JSON as it is, or as text in a string; in several pieces, or at once.
    arguments_are_raw: bool = False
    arguments_in_pieces: bool = True
    # Whether a prompt can be blocked, so that nothing is said at all.
    blocks_prompts: bool = False


class Asked(Protocol):
    """A request, in whichever format."""

    @property
    def model(self) -> str: ...

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def stream(self) -> bool | None: ...

    @property
    def choices(self) -> int: ...

    @property
    def wants_usage(self) -> bool: ...

    @property
    def most_tokens(self) -> int | None:
        """The cap of one choice, thoughts included."""

    @property
    def tools_text(self) -> str:
        """The JSON text of the tools, byte for byte as it was sent."""

    @property
    def manner(self) -> Manner: ...

    def last_user_text(self) -> str:
        """Where the directions are."""

    def callable_function(self) -> Function | None:
        """The first tool, unless the conversation ends in the results of tools."""

    def required_function(self) -> Function | None:
        """The tool that has to be called, where the caller insists on one."""

    def wanted_json(self) -> Schema | None:
        """What the answer has to fit, where the caller wants JSON."""


def directed(order: Asked, last_text: str) -> tuple[str, int]:
    """The texts in which directions are looked for, and how many results of tools there are. Programs that call tools
    have the task at the beginning of a conversation, and words of their own at its end."""
    results = sum(message.role == "tool" for message in order.messages)
    if not order.tools_text or TURN in last_text:
        return last_text, results
    texts = (text for message in order.messages if message.role == "user" for text in message.texts())
    return "\n".join([*(text for text in texts if TURN in text), last_text]), results


def required(functions: Sequence[Function | None], choice: object) -> Function | None:
    """The function that a choice names, or the first where it says that one is required."""
    known = [function for function in functions if function is not None]
    if isinstance(choice, dict):
        return next((function for function in known if function.name == choice.get("name")), None)
    return known[0] if known and choice == "required" else None


def schema_in(form: Mapping[str, object], described: object) -> Schema | None:
    """The schema in a form of answers as OpenAI describes it: any object will do where only JSON is wanted."""
    if form.get("type") == "json_object":
        return ANY_OBJECT
    if form.get("type") != "json_schema" or not isinstance(described, dict):
        return None
    schema = described.get("schema")
    return schema if isinstance(schema, dict) else ANY_OBJECT


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Tool(msgspec.Struct):
    function: Function | None = None


class Order(msgspec.Struct):
    """A chat request of OpenAI's."""

    manner: ClassVar[Manner] = Manner()

    model: str
    messages: list[Message]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    tools: msgspec.Raw = msgspec.Raw()
    tool_choice: msgspec.Raw = msgspec.Raw()
    response_format: msgspec.Raw = msgspec.Raw()

    @property
    def choices(self) -> int:
        return 1 if self.n is None else self.n

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def most_tokens(self) -> int | None:
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def tools_text(self) -> str:
        sent = bytes(self.tools)
        return "" if sent in (b"", b"null") else sent.decode()

    def functions(self) -> list[Function | None]:
        text = self.tools_text
        return [tool.function for tool in _tools.decode(text)] if text else []

    def first_function(self) -> Function | None:
        return next(iter(self.functions()), None)

    def callable_function(self) -> Function | None:
        return None if self.messages[-1].role == "tool" else self.first_function()

    def required_function(self) -> Function | None:
        if not bytes(self.tool_choice):
            return None
        choice = msgspec.json.decode(self.tool_choice)
        named = choice.get("function") if isinstance(choice, dict) else None
        return required(self.functions(), named if named is not None else choice)

    def wanted_json(self) -> Schema | None:
        if not bytes(self.response_format):
            return None
        form = msgspec.json.decode(self.response_format)
        return schema_in(form, form.get("json_schema")) if isinstance(form, dict) else None

    def last_user_text(self) -> str:
        for message in reversed(self.messages):
            if message.role == "user":
                return "\n".join(message.texts())
        return ""


class CheckedOrder(msgspec.Struct, kw_only=True):
    """A request that was read and checked field by field."""

    model: str
    messages: list[Message]
    stream: bool
    choices: int = 1
    wants_usage: bool = True
    most_tokens: int | None = None
    tools_text: str = ""
    function: Function | None = None
    required: Function | None = None
    schema: Schema | None = None
    ends_in_results: bool = False
    manner: Manner = Manner()
    # The names of the fields that came, where that tells one interface of a vendor from another.
    fields: str = ""

    def callable_function(self) -> Function | None:
        return None if self.ends_in_results else self.function

    def required_function(self) -> Function | None:
        return self.required

    def wanted_json(self) -> Schema | None:
        return self.schema

    def last_user_text(self) -> str:
        """Results of tools are in user messages too, which have no text of the user's then."""
        texts = ("\n".join(message.texts()) for message in reversed(self.messages) if message.role == "user")
        return next((text for text in texts if text), "")


_orders = msgspec.json.Decoder(Order)
_tools = msgspec.json.Decoder(list[Tool])


def read_order(body: bytes) -> Order:
    """Raise msgspec.ValidationError for a wrong field, msgspec.DecodeError for what is not JSON."""
    return checked(_orders.decode(body))


def checked(order: Order) -> Order:
    """Raise msgspec.ValidationError for numbers out of range and for tools that are none."""
    if not 1 <= order.choices <= 128:
        raise msgspec.ValidationError("Expected `n` between 1 and 128")
    if order.most_tokens is not None and order.most_tokens < 1:
        raise msgspec.ValidationError("Expected a cap of at least 1 token")
    # Tools are kept as sent and read only where they are used: what is wrong with them is to be told now.
    order.first_function()
    return order
