"""The `anthropic` vendor: the Messages API."""

import time

from tollkeeper.core.chat import ChatOrder
from tollkeeper.core.media import MediaOrder
from tollkeeper.ports import Headers, ProviderAccount, UpstreamAnswer
from tollkeeper.providers.vendors.anthropic_to_chat import SILENT, MessageStream, is_about_the_account, whole_answer
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.chat_request import read_request
from tollkeeper.providers.vendors.chat_to_anthropic import message_request
from tollkeeper.providers.vendors.fields import Form, fitting
from tollkeeper.providers.vendors.headers import content_kinds
from tollkeeper.providers.vendors.media_request import not_sold
from tollkeeper.providers.vendors.translated import TranslatedStream, TranslatedWhole

API_VERSION = "2023-06-01"
PAYMENT_REQUIRED = 402


class Anthropic:
    """The `Vendor` port."""

    def chat(
        self, order: ChatOrder, account: ProviderAccount, *, most_output_tokens: int
    ) -> tuple[str, Headers, bytes]:
        request = read_request(fitting(order.fields, Form.ANTHROPIC, rejects=account.rejects))
        body = message_request(
            request,
            model=account.name_of(order.model) or order.model,
            stream=order.stream,
            most_output_tokens=most_output_tokens,
        )
        return f"{_base(account)}/messages", (*_credentials(account), *content_kinds(order)), body

    def media(self, order: MediaOrder, account: ProviderAccount) -> tuple[str, Headers, bytes]:
        raise not_sold("images, speech or transcripts")

    def told(self, answer: UpstreamAnswer, order: ChatOrder | MediaOrder) -> UpstreamAnswer:
        heading = Heading("", int(time.time()), order.model)
        if order.stream:
            return TranslatedStream(answer, MessageStream(heading))
        return TranslatedWhole(answer, lambda body: whole_answer(body, heading), SILENT)

    def meaning(self, status: int, body: bytes) -> int:
        return PAYMENT_REQUIRED if is_about_the_account(body) else status

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        return f"{_base(account)}/models", _credentials(account)


def _base(account: ProviderAccount) -> str:
    """With or without the version in its path, as people write it."""
    base = account.base_url.rstrip("/")
    return base if base.endswith("/v1") else f"{base}/v1"


def _credentials(account: ProviderAccount) -> Headers:
    return ("x-api-key", account.secret.reveal()), ("anthropic-version", account.api_version or API_VERSION)
