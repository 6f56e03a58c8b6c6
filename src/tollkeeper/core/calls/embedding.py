"""Orders for embeddings: texts or lists of tokens, of which each becomes a vector.

Rules of this file
1. What is priced is the tokens of the input. A list of tokens has as many as it is long; texts are counted.
2. Each input is bounded by the model's context, and how many there are by the protocol.
3. Which other parameters pass is for the provider's vendor to say (`vendors/media_fields`).
"""

from typing import Annotated

import msgspec

from tollkeeper.core.calls.json_fields import read_asked, read_fields
from tollkeeper.core.calls.media import MediaOrder, required
from tollkeeper.core.errors import InvalidParameter, MissingParameter
from tollkeeper.core.money.quote import with_slack

INPUTS_MOST = 2_048
DIMENSIONS_MOST = 65_536
BASE64, FLOAT = "base64", "float"

WANTED = {
    "model": "must be the id of a model",
    "input": f"must be a text, a list of texts, of tokens, or of lists of tokens: 1 to {INPUTS_MOST:,}, and none empty",
    "encoding_format": f"must be {FLOAT} or {BASE64}",
    "dimensions": f"must be a whole number from 1 to {DIMENSIONS_MOST:,}",
}

TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
TokenIds = list[TokenId]


class EmbeddingOrder(MediaOrder, kw_only=True):
    # One of both is empty.
    texts: tuple[str, ...] = ()
    token_lists: tuple[TokenIds, ...] = ()
    wants_base64: bool = False
    dimensions: int | None = None
    # The tokens of the input as we count them; known once the model is.
    counted_tokens: int = 0

    @property
    def inputs(self) -> int:
        return len(self.texts) or len(self.token_lists)

    def forget_content(self) -> None:
        super().forget_content()
        self.texts, self.token_lists = (), ()

    def check_lengths(self, counts: list[int], context_tokens: int) -> None:
        """Raise InvalidParameter where an input is longer than the model can read. Of texts the provider may count a
        few tokens less than we do."""
        most = with_slack(context_tokens) if self.texts else context_tokens
        longest = max(counts)
        if longest > most:
            raise InvalidParameter(
                "input", f"must have at most {context_tokens:,} tokens each for {self.model}; one has {longest:,}"
            )


class _AskedEmbedding(msgspec.Struct):
    model: str | None = None
    input: str | list[str | TokenId | TokenIds] | None = None
    encoding_format: str | None = None
    dimensions: Annotated[int, msgspec.Meta(ge=1, le=DIMENSIONS_MOST)] | None = None


_decode = msgspec.json.Decoder(_AskedEmbedding).decode


def read_embedding(body: bytes) -> EmbeddingOrder:
    fields = read_fields(body, _AskedEmbedding.__struct_fields__)
    asked = read_asked(body, _decode, _wanted)
    if asked.encoding_format not in {None, FLOAT, BASE64}:
        raise InvalidParameter("encoding_format", WANTED["encoding_format"])
    texts, token_lists = _inputs(asked.input)
    return EmbeddingOrder(
        model=required("model", asked.model, WANTED),
        texts=texts,
        token_lists=token_lists,
        wants_base64=asked.encoding_format == BASE64,
        dimensions=asked.dimensions,
        fields=fields,
    )


def _inputs(asked: str | list[str | int | TokenIds] | None) -> tuple[tuple[str, ...], tuple[TokenIds, ...]]:
    """The texts, or the lists of tokens. Raise a refusal where it is neither, or both, or one of them is empty."""
    if asked is None:
        raise MissingParameter("input")
    each = [asked] if isinstance(asked, str) else asked
    texts = tuple(value for value in each if isinstance(value, str))
    if len(texts) == len(each):
        found: tuple[tuple[str, ...], tuple[TokenIds, ...]] = texts, ()
    elif all(isinstance(value, int) for value in each):
        found = (), ([value for value in each if isinstance(value, int)],)
    else:
        token_lists = tuple(value for value in each if isinstance(value, list))
        found = (), token_lists if len(token_lists) == len(each) else ()
    inputs = found[0] or found[1]
    if not 1 <= len(inputs) <= INPUTS_MOST or not all(inputs):
        raise InvalidParameter("input", WANTED["input"])
    return found


def _wanted(place: str) -> str:
    return WANTED.get(place.partition("[")[0], "is not of the form that the protocol gives it")
