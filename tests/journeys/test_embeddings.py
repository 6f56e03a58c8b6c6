"""Embeddings, edited images and images by token through the official SDK: the books equal the provider's truth."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import uuid4

import openai
import pytest

from tests.chat import receipt_of
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers, a_model_id
from tests.market import KEY
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper_simulator.media.embedding import vector
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

UNITS = 1_000_000
OUTPUT = 8
PRICE = NewPrice(model=Decimal(2), completion=Decimal(OUTPUT))
VENDORS = ("openai", "azure", "gemini")
TEXTS = ["The river is wide.", "A stone", "Two stones, and a bird"]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
THEIRS = {Kind.EMBEDDING: "embedding-9", Kind.IMAGE: "gpt-image-1"}


class Workshop:
    """A node with a database of its own, a provider, and a customer whose SDK calls it."""

    def __init__(self, node: Node, customers: Customers, receipts: SqlReceipts, provider: Simulator) -> None:
        self.node, self.customers, self.receipts, self.provider = node, customers, receipts, provider
        self.customer: Customer

    async def a_model(self, *vendors: str, kind: Kind = Kind.EMBEDDING, context: int = 8_192, key: str = KEY) -> str:
        """Served by an account of each vendor, asked in this order. `key` is of the first."""
        model, base = a_model_id(), self.provider.base
        for tier, vendor in enumerate(vendors, start=1):
            account = NewProviderAccount(
                name=f"{vendor}-{uuid4().hex[:8]}",
                vendor=vendor,
                base_url=base if vendor == "openai" else base.removesuffix("/v1"),
                secret=key if tier == 1 else KEY,
                place=PoolPlace(tier=tier),
                models={model: THEIRS[kind]},
            )
            await self.customers.desk.providers.add(account, actor=ACTOR)
        caps = TokenCaps(context_tokens=context)
        await self.customers.a_model(model_id=model, price=PRICE, kind=kind, limits=caps)
        self.customer = await self.customers.a_customer(usd="100")
        wait_until(lambda: model in ask(self.node, "/v1/models", key=self.customer.key).text.decode())
        return model

    def sdk(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.node.base}/v1", api_key=self.customer.key, max_retries=0)

    def post(self, path: str, **body: object) -> Answer:
        return ask(self.node, path, method="POST", key=self.customer.key, body=body)

    async def receipt(self, request_id: str) -> Receipt:
        return await receipt_of(self.receipts, request_id)

    def truth(self, request_id: str) -> dict[str, Any]:
        return self.provider.wait_for(request_id)


@pytest.fixture(scope="module")
async def workshop(stores: Stores, provider: Simulator) -> AsyncIterator[Workshop]:
    settings = await variables(stores)
    async with office(load(settings)) as desk, opened(load(settings), DatabaseRole.CONSOLE) as database:
        with Node(settings) as node:
            yield Workshop(node, Customers(desk), SqlReceipts(database), provider)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("encoding_format", ["float", "base64", None])
async def test_texts_become_vectors_at_the_vendors_own_count(
    workshop: Workshop, vendor: str, encoding_format: Any
) -> None:
    model = await workshop.a_model(vendor)
    given: dict[str, Any] = {} if encoding_format is None else {"encoding_format": encoding_format}
    with workshop.sdk() as client:
        raw = client.embeddings.with_raw_response.create(model=model, input=TEXTS, dimensions=5, user="me", **given)
    answer, request_id = raw.parse(), raw.headers["x-request-id"]
    # Not as the provider's own account knows it.
    assert answer.model == model
    vectors = [vector(text, 5) for text in TEXTS]
    if encoding_format != "base64":
        assert [each.embedding for each in answer.data] == vectors
    truth, receipt = workshop.truth(request_id), await workshop.receipt(request_id)
    assert (truth["vendor"], truth["kind"]) == (vendor, "batch" if vendor == "gemini" else "embedding")
    assert answer.usage.prompt_tokens == truth["input_tokens"] > 0
    assert receipt.charged == truth["input_tokens"] * 2 * UNITS
    assert receipt.charged_usd == raw.headers["x-charged-usd"]
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)
    each, tokens = "1 group × 2 quota tokens for each input token", truth["input_tokens"]
    assert receipt.formula == f"{each} × {tokens} = {2 * tokens} quota tokens = {receipt.charged_usd} USD"


async def test_base64_is_the_same_from_a_vendor_who_has_none(workshop: Workshop) -> None:
    """The SDK asks for base64 by itself where nothing is said, and unpacks it."""
    found = []
    for vendor in ("openai", "gemini"):
        model = await workshop.a_model(vendor)
        answer = workshop.post("/v1/embeddings", model=model, input="a river", encoding_format="base64")
        found.append(answer.json["data"])
    assert found[0] == found[1]
    assert isinstance(found[0][0]["embedding"], str)


@pytest.mark.parametrize("vendor", ["openai", "azure"])
@pytest.mark.parametrize(("asked", "tokens"), [([1, 2, 3], 3), ([[1, 2], [3, 4, 5, 6]], 6)], ids=["one", "several"])
async def test_lists_of_tokens_count_as_they_are_long(workshop: Workshop, vendor: str, asked: Any, tokens: int) -> None:
    model = await workshop.a_model(vendor)
    with workshop.sdk() as client:
        raw = client.embeddings.with_raw_response.create(model=model, input=asked)
    assert raw.parse().usage.total_tokens == tokens
    receipt = await workshop.receipt(raw.headers["x-request-id"])
    assert receipt.charged == tokens * 2 * UNITS == receipt.held


async def test_a_vendor_who_cannot_is_passed_over_before_anything_is_sent(workshop: Workshop) -> None:
    model = await workshop.a_model("anthropic", "gemini", "openai")
    answer = workshop.post("/v1/embeddings", model=model, input=[7, 8, 9])
    assert answer.status == 200, answer.text
    assert workshop.truth(answer.headers["x-request-id"])["vendor"] == "openai"
    assert len((await workshop.receipt(answer.headers["x-request-id"])).attempts) == 1
    alone = await workshop.a_model("anthropic")
    refused = workshop.post("/v1/embeddings", model=alone, input="a river")
    assert (refused.status, refused.error["code"]) == (400, "unsupported_parameter")


async def test_one_that_fails_is_failed_over_and_paid_once(workshop: Workshop) -> None:
    failing = await workshop.a_model("openai", "gemini", key="a wrong one")
    answer = workshop.post("/v1/embeddings", model=failing, input=TEXTS)
    assert answer.status == 200, answer.text
    receipt = await workshop.receipt(answer.headers["x-request-id"])
    assert (receipt.charged, len(receipt.attempts)) == (answer.json["usage"]["prompt_tokens"] * 2 * UNITS, 2)
    model = await workshop.a_model("openai", "azure")
    # The direction reaches both.
    broken = workshop.post("/v1/embeddings", model=model, input=["[[cut_at=1]] a river", "a stone"])
    assert (broken.status, broken.error["code"]) == (503, "provider_unavailable")
    receipt = await workshop.receipt(broken.headers["x-request-id"])
    assert (receipt.charged, len(receipt.attempts)) == (0, 2)
    # In the middle of many small writes nothing is lost.
    slow = workshop.post("/v1/embeddings", model=model, input=["[[drip=1]] a river"], encoding_format="float")
    assert slow.status == 200, slow.text
    truth = workshop.truth(slow.headers["x-request-id"])
    assert (await workshop.receipt(slow.headers["x-request-id"])).charged == truth["input_tokens"] * 2 * UNITS


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("said", ["no", "absurd", "negative", "huge"])
async def test_without_a_report_that_can_be_the_count_is_charged(workshop: Workshop, vendor: str, said: str) -> None:
    model = await workshop.a_model(vendor)
    answer = workshop.post("/v1/embeddings", model=model, input=[f"[[usage={said}]] a river", "a stone"])
    assert answer.status == 200, answer.text
    truth, receipt = (
        workshop.truth(answer.headers["x-request-id"]),
        await workshop.receipt(answer.headers["x-request-id"]),
    )
    assert receipt.charged == truth["input_tokens"] * 2 * UNITS == receipt.held
    assert receipt.usage_source is UsageSource.COUNTED_INPUT


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"input": ""}, "input", id="an empty text"),
        pytest.param({"input": []}, "input", id="nothing"),
        pytest.param({"input": ["a", ""]}, "input", id="one of them empty"),
        pytest.param({"input": ["a", 1]}, "input", id="texts and tokens"),
        pytest.param({"input": [[1], 2]}, "input", id="lists and tokens"),
        pytest.param({"input": [1, -2]}, "input[1]", id="no token"),
        pytest.param({"input": ["a"] * 2_049}, "input", id="too many"),
        pytest.param({"input": {"text": "a"}}, "input", id="an object"),
        pytest.param({}, "input", id="none"),
        pytest.param({"input": "a", "encoding_format": "int8"}, "encoding_format", id="an unknown form"),
        pytest.param({"input": "a", "dimensions": 0}, "dimensions", id="no dimensions"),
        pytest.param({"input": [1] * 101}, "input", id="longer than the context"),
        pytest.param({"input": "river " * 300}, "input", id="a text longer than the context"),
        pytest.param({"input": "a", "service_tier": "flex"}, "service_tier", id="what is not listed"),
    ],
)
async def test_what_is_wrong_is_refused_by_name(workshop: Workshop, fields: dict[str, Any], param: str) -> None:
    model = await workshop.a_model("openai", context=100)
    answer = workshop.post("/v1/embeddings", model=model, **fields)
    assert (answer.status, answer.error["param"]) == (400, param), answer.text


async def test_a_model_of_another_kind_says_so(workshop: Workshop) -> None:
    model = await workshop.a_model("openai")
    answer = workshop.post("/v1/chat/completions", model=model, messages=[{"role": "user", "content": "a"}])
    assert answer.status == 404
    assert "a model for embedding calls, not for chat" in answer.error["message"]


# Images by token.


@pytest.mark.parametrize("vendor", ["openai", "azure"])
@pytest.mark.parametrize(
    ("fields", "each"),
    [({}, 1_056), ({"size": "1536x1024", "quality": "high"}, 6_240), ({"size": "auto", "quality": "low"}, 272)],
    ids=["nothing said", "large and high", "auto and low"],
)
async def test_images_by_token_are_charged_by_their_report(
    workshop: Workshop, vendor: str, fields: dict[str, Any], each: int
) -> None:
    model = await workshop.a_model(vendor, kind=Kind.IMAGE)
    with workshop.sdk() as client:
        raw = client.images.with_raw_response.generate(model=model, prompt="A cat by a river", n=2, **fields)
    answer, request_id = raw.parse(), raw.headers["x-request-id"]
    truth, receipt = workshop.truth(request_id), await workshop.receipt(request_id)
    assert len(answer.data or ()) == truth["images"] == 2
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (truth["input_tokens"], 2 * each)
    assert receipt.charged == (truth["input_tokens"] + 2 * each * OUTPUT) * 2 * UNITS
    assert receipt.charged <= receipt.held
    assert receipt.charged_usd == raw.headers["x-charged-usd"]
    assert receipt.usage_source is UsageSource.PROVIDER
    assert f"{2 * each} output × 8" in receipt.formula


@pytest.mark.parametrize("vendor", ["openai", "azure"])
@pytest.mark.parametrize("images", [1, 3])
async def test_images_are_edited_by_the_sdk(workshop: Workshop, vendor: str, images: int) -> None:
    model = await workshop.a_model(vendor, kind=Kind.IMAGE)
    files = [(f"of-a-caller-{number}.png", PNG, "image/png") for number in range(images)]
    with workshop.sdk() as client:
        raw = client.images.with_raw_response.edit(
            model=model,
            image=files[0] if images == 1 else files,
            mask=("mask.png", PNG),
            prompt="A hat for the cat",
            quality="medium",
            input_fidelity="high",
        )
    request_id = raw.headers["x-request-id"]
    truth, receipt = workshop.truth(request_id), await workshop.receipt(request_id)
    assert (truth["kind"], truth["vendor"], truth["file_bytes"]) == ("edit", vendor, (images + 1) * len(PNG))
    assert truth["input_tokens"] > (images + 1) * 323
    assert receipt.charged == (truth["input_tokens"] + truth["output_tokens"] * OUTPUT) * 2 * UNITS
    assert receipt.charged <= receipt.held
    assert receipt.usage.parts is None or receipt.usage.parts.image_input == (images + 1) * 323


async def test_without_a_report_an_image_costs_what_was_held_for_it(workshop: Workshop) -> None:
    model = await workshop.a_model("openai", kind=Kind.IMAGE)
    answer = workshop.post("/v1/images/generations", model=model, prompt="A cat [[usage=no]]", n=1)
    assert answer.status == 200, answer.text
    receipt = await workshop.receipt(answer.headers["x-request-id"])
    assert (receipt.charged, receipt.usage_source) == (receipt.held, UsageSource.COUNTED)


async def test_who_cannot_pay_is_told_what_is_needed_and_nothing_of_a_maximum(workshop: Workshop) -> None:
    model = await workshop.a_model("openai", kind=Kind.IMAGE)
    workshop.customer = await workshop.customers.a_customer(usd="0.01")
    answer = workshop.post("/v1/images/generations", model=model, prompt="A cat", n=1)
    assert (answer.status, answer.error["code"]) == (403, "insufficient_account_quota")
    assert "this call needs 0." in answer.error["message"]
    assert "max_tokens" not in answer.error["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"stream": "true"}, "stream", id="streamed"),
        pytest.param({"prompt": ""}, "prompt", id="no prompt"),
        pytest.param({"n": "many"}, "n", id="no number"),
        pytest.param({"partial_images": "2"}, "partial_images", id="what is not listed"),
        pytest.param({"image": b"GIF89a"}, "image", id="no image that is edited"),
        pytest.param({"image": None}, "image", id="no image"),
    ],
)
async def test_what_is_wrong_with_an_edit_is_refused_by_name(
    workshop: Workshop, fields: dict[str, Any], param: str
) -> None:
    model = await workshop.a_model("openai", kind=Kind.IMAGE)
    image = fields.pop("image", PNG)
    parts = [f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in
             {"model": model, "prompt": "A hat", **fields}.items()]  # fmt: skip
    if image is not None:
        head = b'--b\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
        parts.append(head + image + b"\r\n")
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    body = b"".join(parts) + b"--b--\r\n"
    answer = ask(
        workshop.node, "/v1/images/edits", method="POST", key=workshop.customer.key, headers=headers, body=body
    )
    assert (answer.status, answer.error["param"]) == (400, param), answer.text
