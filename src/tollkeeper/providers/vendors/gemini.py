"""The `gemini` vendor: the generateContent API, and the embeddings beside it."""

import time
from functools import partial
from urllib.parse import quote

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.embedding import EmbeddingOrder
from tollkeeper.core.calls.media import MediaOrder
from tollkeeper.core.calls.native import Dialect
from tollkeeper.ports import Headers, ProviderAccount, UpstreamAnswer
from tollkeeper.providers.vendors.chat_answer import Heading
from tollkeeper.providers.vendors.chat_request import read_request
from tollkeeper.providers.vendors.chat_to_gemini import content_request
from tollkeeper.providers.vendors.embeddings_to_gemini import embedding_request
from tollkeeper.providers.vendors.fields import WireFormat, fitting
from tollkeeper.providers.vendors.gemini_to_chat import (
    SILENT,
    ContentStream,
    is_about_the_account,
    is_about_the_key,
    whole_answer,
)
from tollkeeper.providers.vendors.gemini_to_embeddings import embedding_answer
from tollkeeper.providers.vendors.headers import content_kinds
from tollkeeper.providers.vendors.media_fields import fitting_media
from tollkeeper.providers.vendors.media_request import JSON, not_sold
from tollkeeper.providers.vendors.translated import TranslatedStream, TranslatedWhole

API_VERSION = "v1beta"
VERSIONS = ("/v1", "/v1beta", "/v1alpha")
# The vendor's list of models shows names with it, and its addresses have it already.
PREFIX = "models/"
BAD_REQUEST = 400
UNAUTHORIZED = 401
# Of the account, from where we are: not a matter of its key, and not of the request.
UNAVAILABLE = 503


class Gemini:
    """The `Vendor` port."""

    def chat(
        self, order: ChatOrder, account: ProviderAccount, *, most_output_tokens: int
    ) -> tuple[str, Headers, bytes]:
        request = read_request(fitting(order.fields, WireFormat.GEMINI, rejects=account.rejects))
        model = _name(order.model, account)
        method = "streamGenerateContent?alt=sse" if order.stream else "generateContent"
        address = f"{_base(account)}/models/{quote(model, safe='')}:{method}"
        return address, (*_credentials(account), *content_kinds(order)), content_request(request, model=model)

    def speaks(self, dialect: Dialect, account: ProviderAccount) -> bool:
        return False

    def media(self, order: MediaOrder, account: ProviderAccount) -> tuple[str, Headers, bytes]:
        if not isinstance(order, EmbeddingOrder):
            raise not_sold("images, speech or transcripts")
        # No account of this vendor lets anything pass that is not listed.
        fitting_media(order, frozenset())
        model = _name(order.model, account)
        address = f"{_base(account)}/models/{quote(model, safe='')}:batchEmbedContents"
        return address, (*_credentials(account), ("content-type", JSON)), embedding_request(order, model=model)

    def translate(self, answer: UpstreamAnswer, order: ChatOrder | MediaOrder) -> UpstreamAnswer:
        if isinstance(order, EmbeddingOrder):
            return _translated_embeddings(answer, order)
        heading = Heading("", int(time.time()), order.model)
        # Read now: what was asked is forgotten before the answer has come.
        one_tool_call = bytes(order.fields.get("parallel_tool_calls", b"")) == b"false"
        if order.stream:
            return TranslatedStream(answer, ContentStream(heading, one_tool_call=one_tool_call))
        return TranslatedWhole(answer, lambda body: whole_answer(body, heading, one_tool_call=one_tool_call), SILENT)

    def read_native(self, answer: UpstreamAnswer, order: ChatOrder) -> UpstreamAnswer:
        return self.translate(answer, order)

    def meaning(self, status: int, body: bytes) -> int:
        if status != BAD_REQUEST:
            return status
        if is_about_the_key(body):
            return UNAUTHORIZED
        return UNAVAILABLE if is_about_the_account(body) else status

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        return f"{_base(account)}/models", _credentials(account)


def _translated_embeddings(answer: UpstreamAnswer, order: EmbeddingOrder) -> TranslatedWhole:
    """Everything is taken from the order now: what was asked is forgotten before the answer has come."""
    translate = partial(
        embedding_answer,
        model=order.model,
        wants_base64=order.wants_base64,
        inputs=order.inputs,
        counted_tokens=order.counted_tokens,
    )
    return TranslatedWhole(answer, translate, SILENT)


def _name(model_id: str, account: ProviderAccount) -> str:
    return (account.name_of(model_id) or model_id).removeprefix(PREFIX)


def _base(account: ProviderAccount) -> str:
    """With or without the version in its path, as people write it."""
    base = account.base_url.rstrip("/")
    return base if base.endswith(VERSIONS) else f"{base}/{quote(account.api_version or API_VERSION, safe='')}"


def _credentials(account: ProviderAccount) -> Headers:
    return (("x-goog-api-key", account.secret.reveal()),)
