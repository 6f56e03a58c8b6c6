"""The `openai` vendor, and every provider that speaks the same protocol: orders and answers pass as they came."""

import msgspec

from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.media import MediaOrder
from tollkeeper.ports import Headers, ProviderAccount, UpstreamAnswer
from tollkeeper.providers.vendors.fields import PASSING, Form, fitting
from tollkeeper.providers.vendors.headers import content_kinds
from tollkeeper.providers.vendors.media_fields import fitting_media
from tollkeeper.providers.vendors.media_request import media_request

ASK_FOR_USAGE = "include_usage"


class OpenAI:
    """The `Vendor` port."""

    def chat(
        self, order: ChatOrder, account: ProviderAccount, *, most_output_tokens: int
    ) -> tuple[str, Headers, bytes]:
        headers = (*self.credentials(account), *content_kinds(order))
        return self.address(account, order.model, "chat/completions"), headers, _body(order, account)

    def media(self, order: MediaOrder, account: ProviderAccount) -> tuple[str, Headers, bytes]:
        order = fitting_media(order, account.passes)
        path, kind, body = media_request(order, account.name_of(order.model) or order.model)
        return self.address(account, order.model, path), (*self.credentials(account), ("content-type", kind)), body

    def told(self, answer: UpstreamAnswer, order: ChatOrder | MediaOrder) -> UpstreamAnswer:
        return answer

    def meaning(self, status: int, body: bytes) -> int:
        return status

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        return f"{account.base_url.rstrip('/')}/models", self.credentials(account)

    def address(self, account: ProviderAccount, model_id: str, path: str) -> str:
        return f"{account.base_url.rstrip('/')}/{path}"

    def credentials(self, account: ProviderAccount) -> Headers:
        return (("authorization", f"Bearer {account.secret.reveal()}"),)


def _body(order: ChatOrder, account: ProviderAccount) -> bytes:
    fields = order.fields
    if not (fields.keys() <= PASSING and account.rejects.isdisjoint(fields)):
        fields = fitting(fields, Form.COMPATIBLE, rejects=account.rejects, passes=account.passes)
    changes: dict[str, object] = {}
    theirs = account.name_of(order.model)
    if theirs != order.model:
        changes["model"] = theirs
    if order.stream and not order.wants_usage and "stream_options" not in account.rejects:
        # What is charged is what the provider reports, so it is asked to; the relay takes the report out again.
        asked = msgspec.json.decode(fields.get("stream_options", b"null")) or {}
        changes["stream_options"] = {**asked, ASK_FOR_USAGE: True}
    if fields is not order.fields:
        return msgspec.structs.replace(order, fields=fields).body_with(**changes)
    return order.body_with(**changes) if changes else order.body
