"""The `openai` vendor, and every provider that speaks the same protocol: orders pass through as they came."""

import msgspec

from tollkeeper.core.chat import ChatOrder
from tollkeeper.ports import ProviderAccount

ASK_FOR_USAGE = "include_usage"


class OpenAI:
    """The `Vendor` port."""

    def chat(self, order: ChatOrder, account: ProviderAccount) -> tuple[str, tuple[tuple[str, str], ...], bytes]:
        changes: dict[str, object] = {}
        theirs = account.name_of(order.model)
        if theirs != order.model:
            changes["model"] = theirs
        if order.stream and not order.wants_usage:
            # What is charged is what the provider reports, so it is asked to; the relay takes the report out again.
            asked = msgspec.json.decode(order.fields.get("stream_options", b"null")) or {}
            changes["stream_options"] = {**asked, ASK_FOR_USAGE: True}
        body = order.body_with(**changes) if changes else order.body
        headers = (
            ("content-type", "application/json"),
            ("accept", "text/event-stream" if order.stream else "application/json"),
            ("authorization", f"Bearer {account.secret.reveal()}"),
        )
        return f"{account.base_url.rstrip('/')}/chat/completions", headers, body
