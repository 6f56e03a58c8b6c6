"""The `anthropic` vendor: the Messages API."""

import time

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.json_fields import encode
from tollkeeper.core.calls.media import MediaOrder
from tollkeeper.core.calls.native import Dialect, Native
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.ports import Headers, ProviderAccount, UpstreamAnswer
from tollkeeper.providers.vendors.anthropic_to_chat import SILENT, MessageStream, is_about_the_account, whole_answer
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.chat_request import read_request
from tollkeeper.providers.vendors.chat_to_anthropic import message_request
from tollkeeper.providers.vendors.fields import CAN_BE_SPARED, NOT_BY_THIS_ONE, WireFormat, fitting
from tollkeeper.providers.vendors.headers import content_kinds
from tollkeeper.providers.vendors.media_request import not_sold
from tollkeeper.providers.vendors.translated import (
    NativeStream,
    NativeWhole,
    TranslatedStream,
    TranslatedWhole,
)

API_VERSION = "2023-06-01"
PAYMENT_REQUIRED = 402


class Anthropic:
    """The `Vendor` port."""

    def chat(
        self, order: ChatOrder, account: ProviderAccount, *, most_output_tokens: int
    ) -> tuple[str, Headers, bytes]:
        if order.native is not None and self.speaks(order.native.dialect, account):
            return _native_request(order, order.native, account)
        request = read_request(fitting(order.fields, WireFormat.ANTHROPIC, rejects=account.rejects))
        body = message_request(
            request,
            model=account.name_of(order.model) or order.model,
            stream=order.stream,
            most_output_tokens=most_output_tokens,
        )
        return f"{_base(account)}/messages", (*_credentials(account), *content_kinds(order)), body

    def speaks(self, dialect: Dialect, account: ProviderAccount) -> bool:
        return dialect is Dialect.MESSAGES

    def media(self, order: MediaOrder, account: ProviderAccount) -> tuple[str, Headers, bytes]:
        raise not_sold("images, speech, transcripts or embeddings")

    def translate(self, answer: UpstreamAnswer, order: ChatOrder | MediaOrder) -> UpstreamAnswer:
        heading = Heading("", int(time.time()), order.model)
        if order.stream:
            return TranslatedStream(answer, MessageStream(heading))
        return TranslatedWhole(answer, lambda body: whole_answer(body, heading), SILENT)

    def read_native(self, answer: UpstreamAnswer, order: ChatOrder) -> UpstreamAnswer:
        heading = Heading("", int(time.time()), order.model)
        if order.stream:
            return NativeStream(answer, MessageStream(heading))
        return NativeWhole(answer, lambda body: whole_answer(body, heading), SILENT)

    def meaning(self, status: int, body: bytes) -> int:
        return PAYMENT_REQUIRED if is_about_the_account(body) else status

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        return f"{_base(account)}/models", _credentials(account)


def _native_request(order: ChatOrder, native: Native, account: ProviderAccount) -> tuple[str, Headers, bytes]:
    """What the caller wrote, with the provider's name of the model. Raise UnsupportedParameter."""
    fields = {name: value for name, value in native.fields.items() if name not in account.rejects & CAN_BE_SPARED}
    for name in fields.keys() & account.rejects:
        raise UnsupportedParameter(name, NOT_BY_THIS_ONE.note)
    body = encode({**fields, "model": account.name_of(order.model) or order.model})
    path = "messages/count_tokens" if native.counts_only else "messages"
    return f"{_base(account)}/{path}", (*_credentials(account), *content_kinds(order), *native.headers), body


def _base(account: ProviderAccount) -> str:
    """With or without the version in its path, as people write it."""
    base = account.base_url.rstrip("/")
    return base if base.endswith("/v1") else f"{base}/v1"


def _credentials(account: ProviderAccount) -> Headers:
    return ("x-api-key", account.secret.reveal()), ("anthropic-version", account.api_version or API_VERSION)
