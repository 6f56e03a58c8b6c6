"""Embeddings: what each vendor is sent for an order, and what its answer becomes, to the last member."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.providers.vendors.builders import Heard, an_account
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.embedding import EmbeddingOrder, read_embedding
from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.reporting_meters import EmbeddingMeter
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.core.money.prices import Usage

GOLDEN = Path(__file__).parent / "golden_embeddings"
CASES = sorted(path.name for path in GOLDEN.iterdir())


def an_order(body: bytes | None = None, **fields: Any) -> EmbeddingOrder:
    order = read_embedding(body or json.dumps({"model": "m", "input": "A river", **fields}).encode())
    order.counted_tokens = 77
    return order


async def told_for(heard: bytes, order: EmbeddingOrder) -> bytes:
    answer = VENDORS["gemini"].translate(Heard([heard[:9], heard[9:]]), order)
    # What was asked is forgotten before the answer has come.
    order.forget_content()
    return await answer.read()


@pytest.mark.parametrize("case", CASES)
async def test_gemini_is_sent_and_told_as_the_files_say(case: str) -> None:
    files = {file.stem: file.read_bytes() for file in (GOLDEN / case).iterdir()}
    order = an_order(files["asked"])
    address, headers, body = VENDORS["gemini"].media(order, an_account("gemini"))
    assert address == "https://vendor.test/v1beta/models/m:batchEmbedContents"
    assert dict(headers)["content-type"] == "application/json"
    assert json.loads(body) == json.loads(files["sent"])
    told = await told_for(files["heard"], order)
    assert json.loads(told) == json.loads(files["told"])
    meter = EmbeddingMeter()
    meter.read(told)
    usage = json.loads(told)["usage"]
    assert meter.reported == (None if "estimated" in usage else Usage(usage["prompt_tokens"]))


@pytest.mark.parametrize(
    "heard",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"embeddings": []}',
        b'{"embeddings": [{"values": []}]}',
        b'{"embeddings": [{"values": ["a"]}]}',
        b'{"embeddings": [{"values": [true]}]}',
        b'{"embeddings": [{"values": [%s]}]}' % (b"9" * 400),
        b'{"embeddings": [{"values": [1]}, {"values": [1]}]}',
        b'{"error": {"code": 500}}',
    ],
)
async def test_what_is_no_such_answer_is_none(heard: bytes) -> None:
    with pytest.raises(NotAnAnswer):
        await told_for(heard, an_order())


async def test_a_number_that_is_too_large_for_base64_is_no_answer() -> None:
    with pytest.raises(NotAnAnswer):
        await told_for(b'{"embeddings": [{"values": [1e300]}]}', an_order(encoding_format="base64"))


@pytest.mark.parametrize(
    "fields", [{"input": [1, 2]}, {"input": [[1], [2]]}, {"input": ["a"] * 101}, {"new_thing": 1}], ids=str
)
def test_what_gemini_cannot_do_is_refused_before_anything_is_sent(fields: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedParameter):
        VENDORS["gemini"].media(an_order(**fields), an_account("gemini"))


def test_anthropic_has_none() -> None:
    with pytest.raises(UnsupportedParameter, match="embeddings"):
        VENDORS["anthropic"].media(an_order(), an_account("anthropic"))


@pytest.mark.parametrize(
    ("vendor", "address"),
    [
        ("openai", "https://vendor.test/embeddings"),
        ("azure", "https://vendor.test/openai/deployments/theirs/embeddings?api-version=2024-10-21"),
    ],
)
def test_who_speaks_the_protocol_gets_what_came_but_for_the_models_name(vendor: str, address: str) -> None:
    asked = {"model": "m", "input": [[1, 2], [3]], "encoding_format": "base64", "dimensions": 9, "user": "u"}
    account = an_account(vendor, models={"m": "theirs"})
    found, _, body = VENDORS[vendor].media(read_embedding(json.dumps(asked).encode()), account)
    assert found == address
    assert json.loads(body) == asked | {"model": "theirs"}
