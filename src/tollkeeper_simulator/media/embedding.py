"""Embeddings: vectors that are the same for the same text, as OpenAI and Gemini put them."""

import base64
import random
import struct
from collections.abc import Iterator
from itertools import chain

import msgspec

from tollkeeper_simulator.media.answer import JSON, Answer, Fields, Part, Setting
from tollkeeper_simulator.media.refusal import check_choice, check_range, converted, missing, wrong
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.speech import escape
from tollkeeper_simulator.tokens import count_text

DIMENSIONS = 8
DIMENSIONS_MOST = 3_072
INPUTS_MOST = 2_048
BATCH_MOST = 100

Input = str | list[int]


class EmbeddingOrder(msgspec.Struct):
    """A request for vectors; what is asked stands in the first text."""

    model: str = ""
    input: str | list[str | int | list[int]] = ""
    encoding_format: str = "float"
    dimensions: int = DIMENSIONS
    user: str = ""

    characters = 0
    file_bytes = 0

    @property
    def inputs(self) -> list[Input]:
        asked = self.input
        if isinstance(asked, str):
            return [asked]
        numbers = [each for each in asked if isinstance(each, int)]
        return [numbers] if numbers else [each for each in asked if not isinstance(each, int)]

    @property
    def asked(self) -> str:
        return next((each for each in self.inputs if isinstance(each, str)), "")

    @property
    def tokens(self) -> int:
        return sum(count_text(each) if isinstance(each, str) else len(each) for each in self.inputs)

    def answer(self, setting: Setting) -> Answer:
        vectors = [vector(each, self.dimensions) for each in self.inputs]
        write = _base64 if self.encoding_format == "base64" else msgspec.json.encode
        parts = [
            b'{"object":"embedding","index":%d,"embedding":%b}' % (index, write(each))
            for index, each in enumerate(vectors)
        ]
        told = _usage(self.tokens, setting.directions.usage, b',"usage":{"prompt_tokens":%d,"total_tokens":%d}')
        end = b'],"model":"%b"%b}' % (escape(self.model), told)
        return _whole(b'{"object":"list","data":[', parts, end)


class BatchOrder(msgspec.Struct):
    """The same as Gemini has it."""

    model: str
    texts: list[str]
    dimensions: int = DIMENSIONS

    characters = 0
    file_bytes = 0

    @property
    def asked(self) -> str:
        return self.texts[0]

    @property
    def tokens(self) -> int:
        return sum(map(count_text, self.texts))

    def answer(self, setting: Setting) -> Answer:
        parts = [b'{"values":%b}' % msgspec.json.encode(vector(each, self.dimensions)) for each in self.texts]
        told = _usage(self.tokens, setting.directions.usage, b',"usageMetadata":{"promptTokenCount":%d}')
        return _whole(b'{"embeddings":[', parts, b"]%b}" % told)


def read_embedding_order(fields: Fields) -> EmbeddingOrder:
    """Raise Refused for what the vendor would not take."""
    order = converted(fields, EmbeddingOrder)
    if not order.model:
        raise missing("model")
    check_choice("encoding_format", order.encoding_format, ("float", "base64"))
    check_range("dimensions", order.dimensions, 1, DIMENSIONS_MOST)
    if not 1 <= len(order.inputs) <= INPUTS_MOST or not all(order.inputs):
        raise wrong("input", "input cannot be an empty string.", "invalid_value")
    return order


def read_batch_order(fields: Fields) -> BatchOrder:
    """Raise Refused for what the vendor would not take."""
    try:
        asked = msgspec.convert(fields, _Batch)
    except msgspec.ValidationError as problem:
        raise Refused(Problem(400, f"Invalid JSON payload received. {problem}")) from None
    if not 1 <= len(asked.requests) <= BATCH_MOST:
        raise Refused(Problem(400, f"* BatchEmbedContentsRequest.requests: at most {BATCH_MOST} requests"))
    if any(each.model != f"models/{asked.model}" for each in asked.requests):
        raise Refused(Problem(400, "* BatchEmbedContentsRequest.requests[0].model: it must be the batch's model"))
    texts = ["".join(part.text for part in each.content.parts) for each in asked.requests]
    return BatchOrder(asked.model, texts, asked.requests[0].outputDimensionality or DIMENSIONS)


def vector(of: Input, dimensions: int) -> list[float]:
    """Numbers that a 32-bit float holds exactly, so that they are the same in base64."""
    chance = random.Random(repr(of))  # noqa: S311 - a pattern, not a secret
    return [chance.randrange(-(2**20), 2**20) / 2**20 for _ in range(dimensions)]


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[_Text]


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    content: _Content
    outputDimensionality: int | None = None  # noqa: N815 - as the vendor writes it


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    requests: list[_Request]


def _base64(numbers: list[float]) -> bytes:
    return b'"%b"' % base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers))


def _usage(tokens: int, said: str, form: bytes) -> bytes:
    if said == "no":
        return b""
    told = {"absurd": tokens + 10**9, "negative": -tokens, "zero": 0, "huge": 2**63}.get(said, tokens)
    return form % ((told,) * form.count(b"%d"))


def _whole(start: bytes, vectors: list[bytes], end: bytes) -> Answer:
    def parts() -> Iterator[Part]:
        yield Part(start)
        for index, each in enumerate(vectors):
            yield from chain((Part(b","),) if index else (), (Part(each, ends_chunk=True),))
        yield Part(end)

    length = len(start) + sum(map(len, vectors)) + len(vectors) - 1 + len(end)
    return Answer(JSON, length, parts(), len(vectors))
