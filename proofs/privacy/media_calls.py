"""Calls for images, speech, transcripts and embeddings with canaries in every field, in files, and around them."""

import io
import struct
import wave
from collections.abc import Iterator, Mapping

from proofs.privacy.canaries import Canaries
from proofs.privacy.chat_calls import PNG
from proofs.privacy.raw_http import Call, json_call

IMAGES, EDITS, SPEECH = "/v1/images/generations", "/v1/images/edits", "/v1/audio/speech"
EMBEDDINGS = "/v1/embeddings"
UPLOADS = ("/v1/audio/transcriptions", "/v1/audio/translations")
NOTHING: Mapping[str, str] = {}
FAILURES = (
    'status=400 status_text="WORD is wrong" error_code=WORD error_type=WORD',
    'status=500 status_text="WORD broke" error_code=WORD',
    "leak=error",
    "cut_at=1 echo=true",
    "blocked=true",
)


def image_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    def call(where: str, directions: str = "echo=true", **fields: object) -> Call:
        prompt = f"{canaries.text(f'prompt of an image, {where}')} [[{directions}]]"
        return json_call(f"image, {where}", IMAGES, {"model": model, "prompt": prompt, **fields}, key)

    yield call("address")
    yield call("data", response_format="b64_json")
    for name in ("user", "size", "quality", "style", "response_format", "background", "output_format", "n"):
        yield call(name, **{name: canaries.word(f"{name} of an image")})
    yield call("an unknown parameter", **{canaries.word("parameter of an image"): canaries.text("value of it")})
    for directions in FAILURES:
        yield call(directions, directions.replace("WORD", canaries.word(f"image: {directions}")))


def edit_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    boundary = canaries.word("boundary of an edit")

    def call(where: str, fields: Mapping[str, str] = NOTHING, file: bytes = PNG, directions: str = "echo=true") -> Call:
        prompt = f"{canaries.text(f'prompt of an edit, {where}')} [[{directions}]]"
        sent = {"model": model, "prompt": prompt, **fields}
        name = canaries.word(f"file name of an edit, {where}") + ".png"
        content = file + canaries.text(f"file of an edit, {where}").encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        body = form(sent, name, content, boundary, field="image")
        return Call(name=f"edit, {where}", path=EDITS, body=body, key=key, headers=headers)

    yield call("address")
    yield call("data", {"response_format": "b64_json"})
    for name in ("user", "size", "quality", "response_format", "background", "n", "stream", "model"):
        yield call(name, {name: canaries.word(f"{name} of an edit")})
    yield call("an unknown field", {canaries.word("field of an edit"): canaries.text("value of an edit")})
    yield call("no image", file=b"")
    for directions in FAILURES:
        yield call(directions, directions=directions.replace("WORD", canaries.word(f"edit: {directions}")))
    yield from _odd_forms(canaries, call("plain, told oddly"), "edit")


def embedding_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    def call(where: str, directions: str = "tokens=1", **fields: object) -> Call:
        text = f"{canaries.text(f'text to be embedded, {where}')} [[{directions}]]"
        return json_call(f"embedding, {where}", EMBEDDINGS, {"model": model, "input": text, **fields}, key)

    yield call("plain")
    yield call("several", input=[canaries.text("one of several texts"), canaries.text("another one")])
    for name in ("user", "encoding_format", "dimensions", "model"):
        yield call(name, **{name: canaries.word(f"{name} of an embedding")})
    yield call("a wrong input", input=[{canaries.word("member of an input"): canaries.text("a wrong input")}])
    yield call("an unknown parameter", **{canaries.word("parameter of an embedding"): canaries.text("value of it")})
    for directions in FAILURES[:3]:
        yield call(directions, directions.replace("WORD", canaries.word(f"embedding: {directions}")))


def speech_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    def call(where: str, directions: str = "tokens=2", **fields: object) -> Call:
        text = f"{canaries.text(f'text to be spoken, {where}')} [[{directions}]]"
        return json_call(f"speech, {where}", SPEECH, {"model": model, "input": text, "voice": "alloy", **fields}, key)

    yield call("plain")
    yield call("instructions", instructions=canaries.text("instructions of speech"))
    for name in ("voice", "response_format", "speed", "stream_format", "user"):
        yield call(name, **{name: canaries.word(f"{name} of speech")})
    yield call("an unknown parameter", **{canaries.word("parameter of speech"): canaries.text("value of it")})
    for directions in FAILURES:
        yield call(directions, directions.replace("WORD", canaries.word(f"speech: {directions}")))


def upload_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    for path in UPLOADS:
        yield from _uploads(canaries, model, key, path)


def _uploads(canaries: Canaries, model: str, key: str, path: str) -> Iterator[Call]:
    kind = path.rpartition("/")[2]
    boundary = canaries.word(f"boundary of {kind}")

    def call(
        where: str, fields: Mapping[str, str] = NOTHING, file: bytes | None = None, directions: str = "echo=true"
    ) -> Call:
        prompt = f"{canaries.text(f'prompt of {kind}, {where}')} [[{directions}]]"
        name = canaries.word(f"file name of {kind}, {where}") + ".wav"
        sent = {"model": model, "prompt": prompt, "response_format": "json", **fields}
        content = a_wav(canaries.text(f"file of {kind}, {where}")) if file is None else file
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        body = form(sent, name, content, boundary)
        return Call(name=f"{kind}, {where}", path=path, body=body, key=key, headers=headers)

    yield call("plain")
    yield call("a language", {"language": "en"})
    for name in ("language", "response_format", "temperature", "timestamp_granularities[]", "stream", "model"):
        yield call(name, {name: canaries.word(f"{name} of {kind}")})
    yield call("an unknown field", {canaries.word(f"field of {kind}"): canaries.text(f"value of {kind}")})
    yield call("no sound", file=canaries.text(f"what is no sound, {kind}").encode() * 40)
    yield call("half a sound", file=a_wav(canaries.text(f"half a sound, {kind}"))[:3_000])
    for directions in FAILURES:
        yield call(directions, directions=directions.replace("WORD", canaries.word(f"{kind}: {directions}")))
    yield from _odd_forms(canaries, call("plain, told oddly"), kind)


def _odd_forms(canaries: Canaries, whole: Call, kind: str) -> Iterator[Call]:
    """Forms that are none."""
    odd = canaries.text(f"after the end of {kind}").encode()
    bodies = {
        "something after its end": whole.body + odd,
        "something before its beginning": odd + whole.body,
        "no end": whole.body[:-20] + odd,
        "another boundary": whole.body.replace(b"--", b"-" + canaries.word(f"wrong boundary, {kind}").encode()),
        "parts without a name": whole.body.replace(b'name="prompt"', b'nome="' + odd.replace(b"\n", b"") + b'"'),
    }
    for name, body in bodies.items():
        yield Call(name=f"{kind}, {name}", path=whole.path, body=body, key=whole.key, headers=whole.headers)


def form(fields: Mapping[str, str], filename: str, content: bytes, boundary: str, *, field: str = "file") -> bytes:
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts.append((f'name="{field}"; filename="{filename}"', content))
    pieces = [
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + value + b"\r\n"
        for head, value in parts
    ]
    return b"".join([*pieces, f"--{boundary}--\r\n".encode()])


def a_wav(said: str) -> bytes:
    """A second whose samples are these words, which its title says, too."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, 8_000, 0, "NONE", ""))
        writer.writeframes((said.encode() * (16_000 // len(said.encode()) + 1))[:16_000])
    title = said.encode()[:200].ljust(200, b"\0")
    info = b"INFOINAM" + struct.pack("<I", len(title)) + title
    sound = file.getvalue() + b"LIST" + struct.pack("<I", len(info)) + info
    return b"RIFF" + struct.pack("<I", len(sound) - 8) + sound[8:]
