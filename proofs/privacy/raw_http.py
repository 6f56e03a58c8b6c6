"""HTTP by hand, so that every byte of a call can be what no client would send."""

import json
import socket
from collections.abc import Mapping

import msgspec

from proofs.rig.patience import patience

PATIENCE_SECONDS = 30
PIECE_BYTES = 65_536


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call as it goes over the wire. `leaves_after`: hang up when so many bytes of the answer are there."""

    name: str
    path: str
    body: bytes = b""
    method: str = "POST"
    headers: Mapping[str, str] = {}
    key: str = ""
    host: str = "localhost"
    leaves_after: int | None = None
    # Less than all of it is sent, and then the caller leaves.
    sent_bytes: int | None = None

    def request(self) -> bytes:
        head = {
            "Host": self.host,
            "Content-Type": "application/json",
            "Content-Length": str(len(self.body)),
            "Connection": "close",
        }
        head |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{k}: {v}" for k, v in (head | dict(self.headers)).items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body


class Heard(msgspec.Struct, frozen=True):
    """What came of a call; status 0 where nothing did."""

    call: Call
    status: int
    text: bytes

    @property
    def request_id(self) -> str:
        _, found, after = self.text.lower().partition(b"x-request-id: ")
        return after.split(b"\r\n")[0].decode() if found else ""


def json_call(name: str, path: str, body: object, key: str, **more: object) -> Call:
    fields = {"name": name, "path": path, "body": json.dumps(body, ensure_ascii=False).encode(), "key": key}
    return msgspec.convert(fields | more, Call)


def place(port: int, call: Call) -> Heard:
    """Make the call and hear it out, unless it is one whose caller leaves."""
    received = b""
    try:
        with socket.create_connection(("127.0.0.1", port), patience(PATIENCE_SECONDS)) as connection:
            request = call.request()
            connection.sendall(request if call.sent_bytes is None else request[: call.sent_bytes])
            while call.sent_bytes is None and (call.leaves_after is None or len(received) < call.leaves_after):
                if not (piece := connection.recv(PIECE_BYTES)):
                    break
                received += piece
    except OSError:
        # A node that was killed answers nothing: part of the proof.
        pass
    status = received[9:12].decode("ascii", "replace") if received.startswith(b"HTTP/1.1 ") else "0"
    return Heard(call, int(status) if status.isdigit() else 0, received)
