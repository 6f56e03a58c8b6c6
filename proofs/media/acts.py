"""What the SDKs are asked to show of each media endpoint, what each check costs in all its calls, and what is refused.

The models have the prices of the priced cases.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec

from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.catalog import Model, ProviderAccount


class MediaModel(Model, frozen=True, kw_only=True):
    """A model and its price, or its prices by size and quality."""

    kind: str
    multiplier: Decimal = Decimal(1)
    completion: Decimal = Decimal(1)
    prices: Mapping[str, int] = {}
    images_most: int | None = None

    def options(self) -> Iterator[str]:
        yield f"--kind={self.kind}"
        if not self.prices:
            yield f"--multiplier={self.multiplier}"
        for variant, quota in self.prices.items():
            yield f"--price={variant}={quota}"
        if self.images_most is not None:
            yield f"--images-most={self.images_most}"


MODELS = (
    Model(id="gpt-4o", multiplier=Decimal("1.25"), completion=Decimal(4)),
    MediaModel(id="tts-1", kind="speech", multiplier=Decimal("7.5")),
    MediaModel(id="tts-1-hd", kind="speech", multiplier=Decimal(15)),
    MediaModel(id="whisper-1", kind="transcription", multiplier=Decimal(50)),
    MediaModel(id="dall-e-2", kind="image", prices={"256x256": 8_000, "512x512": 9_000, "1024x1024": 10_000}),
    MediaModel(
        id="dall-e-3",
        kind="image",
        images_most=1,
        prices={
            "1024x1024": 20_000,
            "1792x1024": 40_000,
            "1024x1792": 40_000,
            "1024x1024 hd": 40_000,
            "1792x1024 hd": 60_000,
            "1024x1792 hd": 60_000,
        },
    ),
)
ACCOUNT = ProviderAccount(name="openai")


class MediaAct(Act, frozen=True, kw_only=True):
    """`charged` is for all its calls together, in micro-quota; `fields` are those that the provider must see."""

    charged: int = 0
    fields: frozenset[str] = frozenset()


def refused(calls: int, **told: object) -> MediaAct:
    """A parameter is wrong, unless something else is told."""
    usual = {"status": 400, "type": "invalid_request_error", "code": "invalid_parameter", "model": "whisper-1"}
    return msgspec.convert({**usual, "calls": calls, "reaches_upstream": False, **told}, MediaAct)


WRONG_KEY: Mapping[str, object] = {
    "status": 401,
    "type": "authentication_error",
    "code": "invalid_api_key",
    "wrong_key": "sk-aWrongWrongWrongWrongWrongWrongWrongWrongWrongW",
}

TEXT_OPTIONS = frozenset({"prompt", "response_format", "temperature"})
IMAGE_OPTIONS = frozenset({"n", "quality", "size", "style", "response_format", "user"})

# Every text has 13 characters, every recording 1.5 seconds.
ACTS = {
    "speech": MediaAct(model="tts-1", charged=97_500_000),
    "speech in every format": MediaAct(model="tts-1", calls=6, charged=585_000_000),
    "speech in every voice": MediaAct(model="tts-1", calls=11, charged=1_072_500_000),
    "speech at several speeds": MediaAct(
        model="tts-1-hd", calls=3, charged=585_000_000, fields=frozenset({"speed", "voice"})
    ),
    "speech as it comes": MediaAct(model="tts-1-hd", charged=195_000_000),
    "transcription": MediaAct(model="whisper-1", charged=100_000_000),
    "transcription with every option": MediaAct(
        model="whisper-1", charged=100_000_000, fields=TEXT_OPTIONS | {"language"}
    ),
    "translation": MediaAct(model="whisper-1", charged=100_000_000),
    "translation with every option": MediaAct(model="whisper-1", charged=100_000_000, fields=TEXT_OPTIONS),
    "image": MediaAct(model="dall-e-2", charged=10_000_000_000),
    "image with every option": MediaAct(model="dall-e-3", charged=60_000_000_000, fields=IMAGE_OPTIONS),
    "images as base64": MediaAct(model="dall-e-2", charged=24_000_000_000),
    "too large a file": refused(2, status=413, code="body_too_large"),
    "a file of another type": refused(4),
    "a transcript that is not json": refused(8),
    "a speech that is not for sale": refused(6, model="tts-1"),
    "an image that is not for sale": refused(4, model="dall-e-2"),
    "two images of dall-e-3": refused(1, model="dall-e-3"),
    "a model for something else": refused(4, status=404, code="model_not_found", model="gpt-4o"),
    "a wrong key for a speech": refused(1, **WRONG_KEY),
    "a wrong key for a transcription": refused(1, **WRONG_KEY),
    "a wrong key for an image": refused(1, **WRONG_KEY),
    "too little quota": refused(
        1,
        status=403,
        type="insufficient_quota",
        code="insufficient_account_quota",
        model="dall-e-2",
        has_quota=False,
    ),
}
