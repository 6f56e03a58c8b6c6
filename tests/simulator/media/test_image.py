"""Images, by the vendor's client library and as bytes."""

import asyncio
import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import openai
import pytest

from tests.simulator.media.calls import DEPLOYMENT, IMAGE, VENDORS, client
from tests.simulator.raw import post
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("count", [1, 2, 10])
def test_as_many_images_come_as_were_asked_for(sim: Simulator, vendor: str, count: int) -> None:
    with client(sim, vendor) as caller:
        answer = caller.images.generate(model="dall-e-2", prompt="a duck 🦆 [[tokens=3]]", n=count, size="512x512")
    assert answer.data is not None
    assert {image.revised_prompt for image in answer.data} == {text_of(3)}
    assert answer.created > 1_700_000_000
    urls = {str(image.url) for image in answer.data}
    assert len(urls) == count
    for url in map(urlsplit, urls):
        assert (url.scheme, url.hostname) == ("https", "demoimages.blob.example.net")
        assert {"st", "se", "sig"} <= set(parse_qs(url.query))


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("size", ["1024x1024", "1792x1024", "1024x1792"])
@pytest.mark.parametrize("quality", ["standard", "hd"])
def test_the_newer_model_takes_every_size_and_quality(sim: Simulator, vendor: str, size: Any, quality: Any) -> None:
    with client(sim, vendor) as caller:
        answer = caller.images.generate(
            model="dall-e-3", prompt="x", n=1, size=size, quality=quality, style="natural", user="someone"
        )
    assert answer.data is not None
    assert len(answer.data) == 1


@pytest.mark.parametrize("vendor", VENDORS)
def test_base64_is_a_picture(sim: Simulator, vendor: str) -> None:
    with client(sim, vendor) as caller:
        answer = caller.images.generate(model="dall-e-3", prompt="x", response_format="b64_json")
    assert answer.data is not None
    picture = base64.b64decode(answer.data[0].b64_json or "", validate=True)
    assert answer.data[0].url is None
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        kind, data = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", picture, at + 8 + size) == (zlib.crc32(kind + data),)
        chunks[kind] = data
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert len(zlib.decompress(chunks[b"IDAT"])) == 2


async def test_an_echo_revises_nothing(sim: Simulator) -> None:
    seen, _ = await IMAGE.call(sim, 'eine "Ente" 🦆\n[[echo=1]]')
    assert json.loads(seen.body)["data"][0]["revised_prompt"] == 'eine "Ente" 🦆\n'


@pytest.mark.parametrize("images", [0, 1, 3, 200])
async def test_other_numbers_of_images_come_where_that_is_directed(sim: Simulator, images: int) -> None:
    seen, truth = await IMAGE.call(sim, f"x [[images={images}]]", n=2)
    assert len(json.loads(seen.body)["data"]) == truth["images"] == images
    assert truth["bytes_sent"] == len(seen.data)


@pytest.mark.parametrize("size", [0, 4, 65_536, 300_000])
async def test_base64_has_the_size_that_is_directed(sim: Simulator, size: int) -> None:
    seen, truth = await IMAGE.call(sim, f"x [[bytes={size}]]", n=3, response_format="b64_json")
    sizes = [len(base64.b64decode(image["b64_json"], validate=True)) for image in json.loads(seen.body)["data"]]
    assert sizes == [size * 3 // 4] * 3
    assert (truth["images"], truth["ending"]) == (3, "finished")
    assert truth["bytes_sent"] == len(seen.data)


async def test_large_base64_is_never_in_memory_at_once(sim: Simulator) -> None:
    assert sim.process is not None
    request_id, size = uuid4().hex, 100_000_000
    await IMAGE.call(sim, "warm")
    before = peak_memory_kb(sim.process.pid)
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    body = IMAGE.request(f"[[bytes={size}]]", response_format="b64_json")
    writer.write(post("/v1/images/generations", body, request_id))
    for _ in range(1_000):
        await reader.readexactly(size // 1_000)
    await reader.readuntil(b'"}]}')
    writer.close()
    assert (await asyncio.to_thread(sim.wait_for, request_id))["images"] == 1
    assert peak_memory_kb(sim.process.pid) - before < 10_000


def peak_memory_kb(process_id: int) -> int:
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


WRONG: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "no prompt": ({"prompt": None}, "prompt", "missing_required_parameter"),
    "an empty prompt": ({"prompt": ""}, "prompt", "empty_string"),
    "a long prompt": ({"prompt": "x" * 1_001}, "prompt", "string_above_max_length"),
    "eleven images": ({"n": 11}, "n", "integer_above_max_value"),
    "no images": ({"n": 0}, "n", "integer_below_min_value"),
    "two of the newer model": ({"model": "dall-e-3", "n": 2}, "n", None),
    "a size of the other model": ({"size": "1792x1024"}, "size", "invalid_value"),
    "a quality of the other model": ({"quality": "hd"}, "quality", "invalid_value"),
    "an unknown format": ({"response_format": "svg"}, "response_format", "invalid_value"),
}


@pytest.mark.parametrize(("fields", "param", "code"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("vendor", VENDORS)
def test_what_the_vendor_refuses_is_refused(
    sim: Simulator, vendor: str, fields: dict[str, Any], param: str, code: str | None
) -> None:
    with client(sim, vendor) as caller, pytest.raises(openai.BadRequestError) as refusal:
        caller.images.generate(**({"model": "dall-e-2", "prompt": "x"} | fields))
    assert (refusal.value.param, refusal.value.code) == (param, code)
    assert refusal.value.type == "invalid_request_error"


@pytest.mark.parametrize("body", [b"{nope", b"[]", b'{"prompt":7}', b'{"prompt":"x","n":"two"}'])
async def test_what_cannot_be_read_is_refused_and_on_file(sim: Simulator, body: bytes) -> None:
    seen, truth = await IMAGE.send(sim, body)
    assert (seen.status, truth["status"], truth["ending"], truth["kind"]) == (400, 400, "refused", "image")


async def test_a_prompt_can_be_withheld(sim: Simulator) -> None:
    seen, truth = await IMAGE.call(sim, "[[blocked=1]]")
    assert json.loads(seen.body)["error"]["code"] == "content_policy_violation"
    assert (seen.status, truth["images"]) == (400, 0)


async def test_a_model_need_not_be_named(sim: Simulator) -> None:
    _, unnamed = await IMAGE.send(sim, {"prompt": "x"})
    assert (unnamed["model"], unnamed["fields"]) == ("dall-e-2", "prompt")
    _, deployed = await IMAGE.send(sim, {"prompt": "x"}, path=DEPLOYMENT.format("my%20painter", IMAGE.path))
    assert (deployed["model"], deployed["vendor"], deployed["images"]) == ("my painter", "azure", 1)


def test_the_filter_of_azure_judges_each_image(sim: Simulator) -> None:
    with client(sim, "azure") as caller:
        data: Any = caller.images.generate(model="painter", prompt="x", n=2).data
    assert [image.content_filter_results["hate"]["filtered"] for image in data] == [False, False]
    assert data[0].prompt_filter_results["profanity"]["detected"] is False
