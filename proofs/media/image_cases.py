"""Priced images: what each costs stands in a table of sizes and qualities, and those that came are charged."""

from functools import partial

from proofs.media.case import IMAGES, Case
from proofs.media.http_call import Answer, json_order

PROMPT = "A toll gate at dawn."


def images(name: str, units: int, charged: int, **fields: object) -> Case:
    asked = {"model": "dall-e-2", "prompt": PROMPT, **fields}
    member = str(fields.get("response_format", "url"))
    return Case(
        name=f"images: {name}",
        order=partial(json_order, IMAGES, asked),
        check=partial(check_images, units, member),
        units=units,
        charged=charged,
    )


def check_images(count: int, member: str, answer: Answer) -> None:
    told = answer.json()
    assert isinstance(told["created"], int), told["created"]
    assert len(told["data"]) == count, len(told["data"])
    assert all(image[member] for image in told["data"])


def older(n: int, size: str, charged: int, response_format: str = "url") -> Case:
    return images(f"{n} of {size}", n, charged, n=n, size=size, response_format=response_format)


def newer(size: str, quality: str, charged: int, response_format: str = "url") -> Case:
    more = {"size": size, "quality": quality, "response_format": response_format}
    return images(f"dall-e-3 at {size}, {quality}", 1, charged, model="dall-e-3", **more)


IMAGE_CASES = (
    older(1, "256x256", 8_000_000_000),
    older(2, "512x512", 18_000_000_000),
    older(3, "1024x1024", 30_000_000_000),
    older(4, "256x256", 32_000_000_000, "b64_json"),
    older(5, "512x512", 45_000_000_000),
    older(6, "1024x1024", 60_000_000_000),
    older(7, "256x256", 56_000_000_000),
    older(8, "512x512", 72_000_000_000, "b64_json"),
    older(9, "1024x1024", 90_000_000_000),
    older(10, "256x256", 80_000_000_000),
    older(10, "512x512", 90_000_000_000),
    images("10 of 2 MB", 10, 100_000_000_000, n=10, response_format="b64_json", prompt="[[bytes=2000000]]"),
    newer("1024x1024", "standard", 20_000_000_000),
    newer("1792x1024", "standard", 40_000_000_000),
    newer("1024x1792", "standard", 40_000_000_000),
    newer("1024x1024", "hd", 40_000_000_000),
    newer("1792x1024", "hd", 60_000_000_000),
    newer("1024x1792", "hd", 60_000_000_000, "b64_json"),
    images("nothing said but the model", 1, 20_000_000_000, model="dall-e-3"),
    images("3 came of 10", 3, 27_000_000_000, n=10, size="512x512", prompt="[[images=3]]"),
    images("1 came of 4", 1, 8_000_000_000, n=4, size="256x256", response_format="b64_json", prompt="[[images=1]]"),
)
