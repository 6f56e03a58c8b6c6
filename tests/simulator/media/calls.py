"""Requests for images, speech and transcripts, as client libraries send them and as bytes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import msgspec
from openai import AzureOpenAI, OpenAI

from tests.simulator.conftest import KEY
from tests.simulator.raw import PATIENCE_SECONDS, Seen, post, see
from tools.simulator import Simulator, TruthRow

BOUNDARY = "a-line-that-is-in-no-file"
FORM_HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
VENDORS = ("openai", "azure")
DEPLOYMENT = "/openai/deployments/{}/{}?api-version=2024-10-21"


@contextmanager
def client(sim: Simulator, vendor: str) -> Iterator[OpenAI]:
    host = sim.base.removesuffix("/v1")
    with (
        OpenAI(base_url=sim.base, api_key=KEY, max_retries=0)
        if vendor == "openai"
        else AzureOpenAI(azure_endpoint=host, api_key=KEY, api_version="2024-10-21", max_retries=0)
    ) as opened:
        yield opened


def form(fields: dict[str, str], file: tuple[str, bytes] | None = ("voice.mp3", b"ID3 sounds")) -> bytes:
    lines = []
    for name, value in fields.items():
        lines += [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()]
    if file is not None:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n'
        lines += [head.encode() + b"Content-Type: audio/mpeg\r\n\r\n" + file[1] + b"\r\n"]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode()


class Family(msgspec.Struct, frozen=True):
    """One kind of call: its path, a model, and where the directions go."""

    kind: str
    path: str
    model: str
    fields: dict[str, Any]
    directed: str

    def request(self, text: str, **fields: Any) -> object:
        said = {"model": self.model, **self.fields, self.directed: text} | fields
        return form(said) if self.is_form else said

    @property
    def is_form(self) -> bool:
        return self.path.endswith(("transcriptions", "translations"))

    async def call(
        self, sim: Simulator, text: str, *, quiet_seconds: float = PATIENCE_SECONDS, **fields: Any
    ) -> tuple[Seen, TruthRow]:
        """The call from both sides."""
        return await self.send(sim, self.request(text, **fields), quiet_seconds=quiet_seconds)

    async def send(
        self, sim: Simulator, body: object, *, quiet_seconds: float = PATIENCE_SECONDS, path: str | None = None
    ) -> tuple[Seen, TruthRow]:
        request_id = uuid4().hex
        message = post(path or f"/v1/{self.path}", body, request_id, FORM_HEADERS if self.is_form else {})
        seen = await see(sim, request_id, message, quiet_seconds)
        return seen, await asyncio.to_thread(sim.wait_for, request_id)


IMAGE = Family("image", "images/generations", "dall-e-2", {}, "prompt")
SPEECH = Family("speech", "audio/speech", "tts-1", {"voice": "alloy"}, "input")
TRANSCRIPTION = Family("transcription", "audio/transcriptions", "whisper-1", {}, "prompt")
TRANSLATION = Family("translation", "audio/translations", "whisper-1", {}, "prompt")
FAMILIES = (IMAGE, SPEECH, TRANSCRIPTION, TRANSLATION)
