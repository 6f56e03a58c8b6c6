"""The `openai` vendor, and every provider that speaks the same protocol: orders and answers pass as they came."""

import time

import msgspec

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.json_fields import decode, encode
from tollkeeper.core.calls.media import MediaOrder
from tollkeeper.core.calls.native import Dialect, Native
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.ports import Headers, ProviderAccount, UpstreamAnswer
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.fields import CAN_BE_SPARED, NOT_BY_THIS_ONE, PASSING, WireFormat, fitting
from tollkeeper.providers.vendors.headers import content_kinds
from tollkeeper.providers.vendors.media_fields import fitting_media
from tollkeeper.providers.vendors.media_request import media_request
from tollkeeper.providers.vendors.response_words import SILENT_IN_WHOLE
from tollkeeper.providers.vendors.responses_to_chat import ResponseStream, whole_answer
from tollkeeper.providers.vendors.translated import NativeStream, NativeWhole

ASK_FOR_USAGE = "include_usage"


class OpenAI:
    """The `Vendor` port."""

    def chat(
        self, order: ChatOrder, account: ProviderAccount, *, most_output_tokens: int
    ) -> tuple[str, Headers, bytes]:
        headers = (*self.credentials(account), *content_kinds(order))
        if order.native is not None and self.speaks(order.native.dialect, account):
            return self.address(account, order.model, "responses"), headers, _native_body(order, order.native, account)
        return self.address(account, order.model, "chat/completions"), headers, _body(order, account)

    def speaks(self, dialect: Dialect, account: ProviderAccount) -> bool:
        """Whether it may be asked in this dialect. Vendors that are compatible in chat alone are found by asking
        (`relay/dispatch/unspoken`)."""
        return dialect is Dialect.RESPONSES

    def media(self, order: MediaOrder, account: ProviderAccount) -> tuple[str, Headers, bytes]:
        order = fitting_media(order, account.passes)
        path, kind, body = media_request(order, account.name_of(order.model) or order.model)
        return self.address(account, order.model, path), (*self.credentials(account), ("content-type", kind)), body

    def translate(self, answer: UpstreamAnswer, order: ChatOrder | MediaOrder) -> UpstreamAnswer:
        return answer

    def read_native(self, answer: UpstreamAnswer, order: ChatOrder) -> UpstreamAnswer:
        heading = Heading("", int(time.time()), order.model)
        if order.stream:
            return NativeStream(answer, ResponseStream(heading))
        return NativeWhole(answer, lambda body: whole_answer(body, heading), silent_on_top=SILENT_IN_WHOLE)

    def meaning(self, status: int, body: bytes) -> int:
        return status

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        return f"{account.base_url.rstrip('/')}/models", self.credentials(account)

    def address(self, account: ProviderAccount, model_id: str, path: str) -> str:
        return f"{account.base_url.rstrip('/')}/{path}"

    def credentials(self, account: ProviderAccount) -> Headers:
        return (("authorization", f"Bearer {account.secret.reveal()}"),)


def _native_body(order: ChatOrder, native: Native, account: ProviderAccount) -> bytes:
    """What the caller wrote, with the provider's name of the model. Raise UnsupportedParameter."""
    fields = {name: value for name, value in native.fields.items() if name not in account.rejects & CAN_BE_SPARED}
    # That nothing is stored is said to everybody.
    for name in fields.keys() & account.rejects - {"store"}:
        raise UnsupportedParameter(name, NOT_BY_THIS_ONE.note)
    return encode({**fields, "model": account.name_of(order.model) or order.model})


def _body(order: ChatOrder, account: ProviderAccount) -> bytes:
    fields = order.fields
    if not (fields.keys() <= PASSING and account.rejects.isdisjoint(fields)):
        fields = fitting(fields, WireFormat.COMPATIBLE, rejects=account.rejects, passes=account.passes)
    changes: dict[str, object] = {}
    theirs = account.name_of(order.model)
    if theirs != order.model:
        changes["model"] = theirs
    if order.stream and not order.wants_usage and "stream_options" not in account.rejects:
        # What is charged is what the provider reports, so it is asked to; the relay takes the report out again.
        asked = decode(fields.get("stream_options", b"null")) or {}
        changes["stream_options"] = {**asked, ASK_FOR_USAGE: True}
    if fields is not order.fields:
        return msgspec.structs.replace(order, fields=fields).body_with(**changes)
    return order.body_with(**changes) if changes else order.body
