"""Media orders as the compatible protocol has them: the path, and the body with the provider's name of the model."""

import secrets

from tollkeeper.core.calls import multipart_form
from tollkeeper.core.calls.embedding import EmbeddingOrder
from tollkeeper.core.calls.image_edit import ImageEditOrder
from tollkeeper.core.calls.media import AudioOrder, ImageOrder, MediaOrder, SpeechOrder
from tollkeeper.core.errors import UnsupportedParameter

JSON = "application/json"
BINARY = "application/octet-stream"


def media_request(order: MediaOrder, model: str) -> tuple[str, str, bytes]:
    """Path, kind of content, and body."""
    if isinstance(order, EmbeddingOrder):
        return "embeddings", JSON, order.body_with(model=model)
    if isinstance(order, ImageEditOrder):
        return "images/edits", *order.written(model, secrets.token_hex(16))
    if isinstance(order, ImageOrder):
        return "images/generations", JSON, order.body_with(model=model)
    if isinstance(order, SpeechOrder):
        return "audio/speech", JSON, order.body_with(model=model)
    if isinstance(order, AudioOrder):
        kind, body = _form(order, model)
        return f"audio/{'translations' if order.translated else 'transcriptions'}", kind, body
    raise not_sold("this")


def not_sold(what: str) -> UnsupportedParameter:
    return UnsupportedParameter("model", f"its provider has no {what} that is sold here")


def _form(order: AudioOrder, model: str) -> tuple[str, bytes]:
    upload, boundary = order.upload, secrets.token_hex(16)
    fields = [(name, model if name == "model" else value) for name, value in upload.fields]
    # The provider needs the file's kind, which is in the name's ending; the rest of the name is the caller's own.
    filename = f"audio.{upload.filename.rpartition('.')[2].lower()}"
    pieces = multipart_form.written(fields, upload.file, filename, BINARY, boundary)
    return multipart_form.content_type(boundary), b"".join(pieces)
