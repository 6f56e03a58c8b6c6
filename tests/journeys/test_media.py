"""Images, speech, transcription and translation, as customers call them."""

import base64
import io
import json
import socket
import wave
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.chat import receipt_of, request_id_in
from tests.client import Answer, ask
from tests.customers import ACTOR, Customer, Customers, a_model_id
from tollkeeper.core.calls.media import MediaLimits
from tollkeeper.core.calls.multipart_form import content_type, written
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.ports import NewModel, NewPrice
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

pytestmark = pytest.mark.usefixtures("simulator")

UNITS = 1_000_000
IMAGES = "/v1/images/generations"
SPEECH = "/v1/audio/speech"
TRANSCRIPTIONS = "/v1/audio/transcriptions"
TRANSLATIONS = "/v1/audio/translations"
BOUNDARY = "a-boundary-of-this-test"
SIZES = {"1024x1024": 20_000, "1792x1024": 40_000, "1024x1024 hd": 40_000, "1792x1024 hd": 60_000}


class Studio:
    """A customer, and a model of each kind that the node knows."""

    def __init__(self, node: Node, customer: Customer, models: Mapping[Kind, str], receipts: SqlReceipts) -> None:
        self.node = node
        self.customer = customer
        self.models = models
        self.receipts = receipts

    def image(self, prompt: str = "A cat", **fields: object) -> Answer:
        return self.post(IMAGES, {"model": self.models[Kind.IMAGE], "prompt": prompt, **fields})

    def speech(self, text: str = "Good morning", **fields: object) -> Answer:
        body = {"model": self.models[Kind.SPEECH], "input": text, "voice": "alloy", **fields}
        return self.post(SPEECH, {name: value for name, value in body.items() if value is not None})

    def listen(
        self, file: bytes | bytearray, filename: str = "a.wav", *, path: str = TRANSCRIPTIONS, **fields: str
    ) -> Answer:
        form = {"model": self.models[Kind.TRANSCRIPTION], **fields}
        body = b"".join(written(form.items(), file, filename, "audio/wav", BOUNDARY))
        headers = {"Content-Type": content_type(BOUNDARY)}
        return ask(self.node, path, method="POST", key=self.customer.key, headers=headers, body=body)

    def post(self, path: str, body: object) -> Answer:
        return ask(self.node, path, method="POST", key=self.customer.key, body=body)

    async def charged(self, answer: Answer) -> int:
        return (await receipt_of(self.receipts, answer)).charged


@pytest.fixture(scope="module")
async def studio(node: Node, townsfolk: Customers, receipts: SqlReceipts) -> Studio:
    models = {kind: a_model_id() for kind in (Kind.SPEECH, Kind.TRANSCRIPTION, Kind.IMAGE)}
    for kind, quota in ((Kind.SPEECH, "7.5"), (Kind.TRANSCRIPTION, "50")):
        await townsfolk.a_model(model_id=models[kind], kind=kind, price=NewPrice(model=Decimal(quota)))
    first, *more = (NewPrice(model=Decimal(quota), variant=variant) for variant, quota in SIZES.items())
    image = NewModel(
        id=models[Kind.IMAGE], kind=Kind.IMAGE, price=first, more_prices=more, media=MediaLimits(images_most=5)
    )
    await townsfolk.desk.catalog.add_model(image, actor=ACTOR)
    customer = await townsfolk.a_customer(usd="100")
    wait_until(lambda: models[Kind.IMAGE] in ask(node, "/v1/models", key=customer.key).text.decode())
    return Studio(node, customer, models, receipts)


def a_wav(seconds: float, rate: int = 8_000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(b"\0\0" * round(seconds * rate))
    return file.getvalue()


@pytest.mark.rule("S4.1")
async def test_models_of_every_kind_are_listed_as_they_are_offered(studio: Studio, townsfolk: Customers) -> None:
    def listed() -> set[str]:
        cards = ask(studio.node, "/v1/models", key=studio.customer.key).json["data"]
        return {card["id"] for card in cards}

    assert set(studio.models.values()) <= listed()
    chat = await townsfolk.a_model()
    wait_until(lambda: chat in listed())


# Images.


@pytest.mark.rule("E4.1", "E4.3", "R6.1")
async def test_images_come_as_the_provider_gave_them_and_each_is_charged(studio: Studio) -> None:
    answer = studio.image(n=2)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert isinstance(answer.json["created"], int)
    assert [set(image) for image in answer.json["data"]] == [{"url", "revised_prompt"}] * 2
    receipt = await receipt_of(studio.receipts, answer)
    assert receipt.charged == 2 * 20_000 * UNITS
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.MEASURED)
    assert (
        receipt.formula
        == "1 group × 20000 quota tokens for each image (1024x1024) × 2 = 40000 quota tokens = 0.080 USD"
    )


@pytest.mark.rule("E4.2")
@pytest.mark.parametrize(("variant", "quota"), SIZES.items())
async def test_an_image_costs_what_its_size_and_quality_cost(studio: Studio, variant: str, quota: int) -> None:
    size, _, quality = variant.partition(" ")
    answer = studio.image(size=size, quality=quality or "standard")
    assert await studio.charged(answer) == quota * UNITS


async def test_images_that_did_not_come_are_not_charged(studio: Studio) -> None:
    answer = studio.image("A cat [[images=1]]", n=4)
    assert len(answer.json["data"]) == 1
    receipt = await receipt_of(studio.receipts, answer)
    assert (receipt.charged, receipt.held) == (20_000 * UNITS, 80_000 * UNITS)


async def test_large_images_pass_in_the_answer_itself(studio: Studio) -> None:
    answer = studio.image("A cat [[bytes=3000000]]", response_format="b64_json")
    assert len(base64.b64decode(answer.json["data"][0]["b64_json"])) >= 2_000_000
    assert await studio.charged(answer) == 20_000 * UNITS


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"size": "1x1"}, "size"),
        ({"quality": "best"}, "quality"),
        ({"n": 0}, "n"),
        ({"n": 6}, "n"),
        ({"n": "two"}, "n"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": None}, "prompt"),
        ({"stream": True}, "stream"),
    ],
)
def test_what_the_catalog_does_not_offer_is_refused_by_name(studio: Studio, fields: dict[str, Any], param: str) -> None:
    answer = studio.image(**fields)
    assert (answer.status, answer.error["param"]) == (400, param)


def test_a_model_of_another_kind_is_not_found_there(studio: Studio) -> None:
    answer = studio.post(IMAGES, {"model": studio.models[Kind.SPEECH], "prompt": "x"})
    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
    assert "it is a model for speech calls, not for image" in answer.error["message"]


# Speech.


@pytest.mark.rule("E7.1", "E7.2")
@pytest.mark.parametrize(
    ("format_", "kind"),
    [(None, "audio/mpeg"), ("mp3", "audio/mpeg"), ("opus", "audio/opus"), ("wav", "audio/wav"), ("pcm", "audio/pcm")],
)
async def test_speech_comes_as_audio_and_its_characters_are_charged(
    studio: Studio, format_: str | None, kind: str
) -> None:
    answer = studio.speech("Guten Morgen", response_format=format_, speed=1)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert len(answer.text) > 100
    receipt = await receipt_of(studio.receipts, answer)
    assert receipt.charged == 90 * UNITS
    assert receipt.usage_source is UsageSource.MEASURED
    assert receipt.formula == "1 group × 7.5 quota tokens for each character × 12 = 90 quota tokens = 0.00018 USD"


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        pytest.param("早上好", 3, id="Chinese"),
        pytest.param("\U0001f469\u200d\U0001f469\u200d\U0001f467", 5, id="a family of emoji"),
        pytest.param("e\u0301", 2, id="an accent of its own"),
        pytest.param("a", 1, id="one letter"),
    ],
)
async def test_a_character_is_a_code_point_not_a_byte(studio: Studio, text: str, characters: int) -> None:
    assert await studio.charged(studio.speech(text)) == characters * 7_500_000


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"text": "x" * 4_097}, "input"),
        ({"text": ""}, "input"),
        ({"voice": "nobody"}, "voice"),
        ({"voice": None}, "voice"),
        ({"response_format": "mp4"}, "response_format"),
        ({"speed": 4.01}, "speed"),
        ({"speed": 0.2}, "speed"),
        ({"stream_format": "sse"}, "stream_format"),
    ],
)
def test_speech_that_is_not_on_offer_is_refused_by_name(studio: Studio, fields: dict[str, Any], param: str) -> None:
    answer = studio.speech(**fields)
    assert (answer.status, answer.error["param"]) == (400, param)


def test_speech_goes_out_as_it_is_made(studio: Studio) -> None:
    body = {"model": studio.models[Kind.SPEECH], "input": "Hi [[stall_at=2]]" + "x" * 500, "voice": "alloy"}
    assert b"200 OK" in sent_raw(studio, SPEECH, body, enough=1_000)


@pytest.mark.parametrize("kind", [Kind.SPEECH, Kind.IMAGE])
async def test_what_breaks_off_does_not_look_whole_and_costs_nothing(studio: Studio, kind: Kind) -> None:
    """Half a file is of no use, and who asks for it again would pay twice."""
    bodies: dict[Kind, tuple[str, dict[str, object]]] = {
        Kind.SPEECH: (SPEECH, {"input": "Hi [[half_close_at=2 chunk_ms=20]]" + "x" * 500, "voice": "alloy"}),
        Kind.IMAGE: (IMAGES, {"prompt": "A cat [[half_close_at=1 chunk_ms=20]]", "n": 3}),
    }
    path, body = bodies[kind]
    head = sent_raw(studio, path, body | {"model": studio.models[kind]})
    assert b"200 OK" in head
    assert not head.endswith(b"0\r\n\r\n")
    receipt = await receipt_of(studio.receipts, request_id_in(head))
    assert (receipt.ending, receipt.charged) == (Ending.REFUSED, 0)


def sent_raw(studio: Studio, path: str, body: object, *, enough: int | None = None) -> bytes:
    """Everything that comes until the server closes, or `enough` bytes of it and then nobody is there any more."""
    sent = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {studio.customer.key}\r\n"
    received = b""
    with socket.create_connection(("127.0.0.1", studio.node.port), timeout=20) as connection:
        connection.sendall(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        while (enough is None or len(received) < enough) and (piece := connection.recv(65_536)):
            received += piece
    return received


async def test_who_leaves_in_the_middle_of_a_speech_pays_for_its_text(studio: Studio) -> None:
    text = "Hi [[chunk_ms=20]]" + "x" * 3_000
    body = {"model": studio.models[Kind.SPEECH], "input": text, "voice": "alloy"}
    receipt = await receipt_of(studio.receipts, request_id_in(sent_raw(studio, SPEECH, body, enough=2_000)))
    assert (receipt.ending, receipt.charged) == (Ending.CLIENT_LEFT, len(text) * 7_500_000)


async def test_who_leaves_in_the_middle_of_images_pays_for_those_that_are_made(studio: Studio) -> None:
    body = {"model": studio.models[Kind.IMAGE], "prompt": "A cat [[chunk_ms=200]]", "n": 3}
    receipt = await receipt_of(studio.receipts, request_id_in(sent_raw(studio, IMAGES, body, enough=300)))
    assert (receipt.ending, receipt.charged) == (Ending.CLIENT_LEFT, 60_000 * UNITS)


async def test_more_images_than_were_asked_for_are_a_gift(studio: Studio) -> None:
    answer = studio.image("A cat [[images=5]]", n=2)
    assert len(answer.json["data"]) == 5
    assert await studio.charged(answer) == 40_000 * UNITS


async def test_words_instead_of_sound_are_no_answer(studio: Studio) -> None:
    answer = studio.speech("Hi [[json_garbage=1]]")
    assert answer.status == 503
    assert await studio.charged(answer) == 0


# Transcripts.


async def test_what_the_demo_provider_speaks_can_be_transcribed(studio: Studio) -> None:
    spoken = studio.speech("Good morning")
    answer = studio.listen(spoken.text, "morning.mp3")
    assert answer.status == 200, answer.text
    # Eight tenths of a second, begun ones whole.
    assert await studio.charged(answer) == 50 * UNITS


@pytest.mark.rule("E5.1", "E5.4", "L6.1")
@pytest.mark.parametrize(("seconds", "charged"), [(0.5, 1), (1.0, 1), (1.001, 2), (3.0, 3), (61.2, 62)])
async def test_audio_is_charged_by_its_seconds_begun_ones_whole(studio: Studio, seconds: float, charged: int) -> None:
    answer = studio.listen(a_wav(seconds), language="en")
    assert answer.status == 200, answer.text
    assert answer.json["text"]
    receipt = await receipt_of(studio.receipts, answer)
    assert receipt.charged == charged * 50 * UNITS
    assert receipt.usage_source is UsageSource.MEASURED
    assert answer.headers["x-charged-usd"] == receipt.charged_usd


@pytest.mark.rule("E6.1")
async def test_a_translation_is_asked_for_at_its_own_place(studio: Studio, simulator: Simulator) -> None:
    answer = studio.listen(a_wav(2), path=TRANSLATIONS, prompt="A talk", response_format="json")
    assert answer.status == 200, answer.text
    assert answer.json["text"]
    assert await studio.charged(answer) == 100 * UNITS
    assert simulator.wait_for(answer.headers["x-request-id"])["kind"] == "translation"


@pytest.mark.rule("E5.3")
@pytest.mark.parametrize("format_", ["text", "srt", "verbose_json", "vtt"])
def test_only_json_is_written(studio: Studio, format_: str) -> None:
    answer = studio.listen(a_wav(1), response_format=format_)
    assert (answer.status, answer.error["param"]) == (400, "response_format")


@pytest.mark.rule("E5.2")
def test_a_file_of_another_kind_is_refused_by_name_and_by_content(studio: Studio) -> None:
    for filename, content in (("a.txt", a_wav(1)), ("a.mp3", a_wav(1)), ("a.wav", b"PK\x03\x04" * 100), ("wav", b"x")):
        answer = studio.listen(content, filename)
        assert (answer.status, answer.error["param"]) == (400, "file"), filename


@pytest.mark.rule("E5.2")
async def test_a_file_may_have_25_megabytes_and_not_a_byte_more(studio: Studio) -> None:
    most = 25 * 1024 * 1024
    largest = bytearray(a_wav((most - 44) / 16_000))
    assert len(largest) == most
    answer = studio.listen(largest)
    assert answer.status == 200, answer.text
    assert await studio.charged(answer) == -(-(most - 44) // 16_000) * 50 * UNITS
    assert studio.listen(largest + b"\0").status == 413


def test_a_form_without_a_file_or_a_model_is_told_what_is_missing(studio: Studio) -> None:
    headers = {"Content-Type": content_type(BOUNDARY)}
    body = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\nx\r\n--{BOUNDARY}--\r\n'.encode()
    answer = ask(studio.node, TRANSCRIPTIONS, method="POST", key=studio.customer.key, headers=headers, body=body)
    assert (answer.status, answer.error["param"]) == (400, "file")


# What goes wrong.


@pytest.mark.parametrize("kind", [Kind.IMAGE, Kind.SPEECH, Kind.TRANSCRIPTION])
async def test_what_the_provider_rejects_costs_nothing(studio: Studio, kind: Kind) -> None:
    told = '[[status=400 status_text="No such thing here."]]'
    calls = {
        Kind.IMAGE: lambda: studio.image(told),
        Kind.SPEECH: lambda: studio.speech(told),
        Kind.TRANSCRIPTION: lambda: studio.listen(a_wav(1), prompt=told),
    }
    answer = calls[kind]()
    assert (answer.status, answer.error["message"][:19]) == (400, "No such thing here.")
    assert await studio.charged(answer) == 0


async def test_too_little_quota_is_told_before_anything_is_made(studio: Studio, townsfolk: Customers) -> None:
    poor = await townsfolk.a_customer(usd="0.01")
    body = {"model": studio.models[Kind.IMAGE], "prompt": "A cat", "n": 2}
    answer = ask(studio.node, IMAGES, method="POST", key=poor.key, body=body)
    assert (answer.status, answer.error["code"]) == (403, "insufficient_account_quota")
    assert "max_tokens" not in answer.error["message"]
