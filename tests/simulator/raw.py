"""A client that sees the wire as it is: every byte, and how the connection ended."""

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import msgspec

from tools.simulator import Simulator, TruthRow

# An answer that is complete is not waited for; who looks at one that never will be says how long.
PATIENCE_SECONDS = 10.0
A_WHILE_SECONDS = 0.25


class Seen(msgspec.Struct):
    """What one call looked like from outside. `ended`: open, closed or reset."""

    request_id: str
    data: bytes
    ended: str

    @property
    def status(self) -> int:
        return int(self.data.split(b" ", 2)[1])

    @property
    def head(self) -> str:
        return self.data.partition(b"\r\n\r\n")[0].decode().lower()

    @property
    def body(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def events(self) -> list[str]:
        """The data of the events, after the chunks are taken off."""
        text = unchunked(self.body).replace(b"\r\n", b"\n").decode()
        return [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]

    @property
    def words(self) -> str:
        return "".join(
            choice["delta"].get("content") or ""
            for event in self.events
            if event.startswith("{") and event.endswith("}")
            for choice in json.loads(event).get("choices", ())
        )


def chunks_in(body: bytes) -> list[bytes]:
    """As many chunks as can be read of a body, which may end anywhere."""
    chunks = []
    while b"\r\n" in body:
        size, _, rest = body.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        body = rest[int(size, 16) + 2 :]
    return chunks


def unchunked(body: bytes) -> bytes:
    return b"".join(chunks_in(body))


def post(path: str, body: object, request_id: str, headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"Host": "demo", "X-Request-Id": request_id, **headers, "Content-Length": str(len(data))}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode() + data


def request(text: str, request_id: str, **fields: object) -> bytes:
    body = {"model": "demo-small", "messages": [{"role": "user", "content": text}]} | fields
    return post("/v1/chat/completions", body, request_id)


async def look(sim: Simulator, text: str, *, quiet_seconds: float = PATIENCE_SECONDS, **fields: object) -> Seen:
    """Call, and read until the answer is complete, the connection ends, or nothing comes for a while."""
    request_id = uuid4().hex
    return await see(sim, request_id, request(text, request_id, **fields), quiet_seconds)


async def see(sim: Simulator, request_id: str, message: bytes, quiet_seconds: float = PATIENCE_SECONDS) -> Seen:
    """The same for a request in any form."""
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port, limit=2**26)
    writer.write(message)
    seen = Seen(request_id, b"", "open")
    try:
        while not _is_whole(seen):
            data = await _read_unless_silent(sim, reader, quiet_seconds)
            if not data:
                seen.ended = "closed"
                break
            seen.data += data
    except TimeoutError:
        pass
    except ConnectionResetError:
        seen.ended = "reset"
    writer.close()
    return seen


async def _read_unless_silent(sim: Simulator, reader: asyncio.StreamReader, quiet_seconds: float) -> bytes:
    """What comes next; TimeoutError if nothing does, also after the simulator has shown that it gets to run."""
    try:
        return await asyncio.wait_for(reader.read(65_536), quiet_seconds)
    except TimeoutError:
        await _answers_others(sim)
    return await asyncio.wait_for(reader.read(65_536), quiet_seconds)


async def _answers_others(sim: Simulator) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    writer.write(b"GET /v1/models HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n")
    assert await asyncio.wait_for(reader.read(65_536), 60)
    writer.close()


async def look_and_know(sim: Simulator, text: str, **fields: Any) -> tuple[Seen, TruthRow]:
    """The call from both sides: what was seen, and the truth about it."""
    seen = await look(sim, text, **fields)
    return seen, await asyncio.to_thread(sim.wait_for, seen.request_id)


def _is_whole(seen: Seen) -> bool:
    if "transfer-encoding: chunked" in seen.head:
        return seen.body.endswith(b"0\r\n\r\n")
    length = seen.head.partition("content-length: ")[2].partition("\r\n")[0]
    return length.isdigit() and len(seen.body) >= int(length)
