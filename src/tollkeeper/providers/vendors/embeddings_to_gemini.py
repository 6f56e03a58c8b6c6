"""Orders for embeddings as Gemini has them: one request for each text, in one batch. Pure."""

import msgspec

from tollkeeper.core.calls.embedding import EmbeddingOrder
from tollkeeper.core.errors import UnsupportedParameter

# What the vendor takes in one batch.
TEXTS_MOST = 100

encode = msgspec.json.Encoder().encode


def embedding_request(order: EmbeddingOrder, *, model: str) -> bytes:
    """Raise UnsupportedParameter."""
    if order.token_lists:
        raise UnsupportedParameter("input", "the model's provider takes texts, and no lists of tokens")
    if len(order.texts) > TEXTS_MOST:
        raise UnsupportedParameter("input", f"the model's provider takes at most {TEXTS_MOST} texts at once")
    wanted = {} if order.dimensions is None else {"outputDimensionality": order.dimensions}
    requests = [{"model": f"models/{model}", "content": {"parts": [{"text": text}]}, **wanted} for text in order.texts]
    return encode({"requests": requests})
