"""Headers that every vendor is sent."""

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.ports import Headers


def content_kinds(order: ChatOrder) -> Headers:
    return (
        ("content-type", "application/json"),
        ("accept", "text/event-stream" if order.stream else "application/json"),
    )
