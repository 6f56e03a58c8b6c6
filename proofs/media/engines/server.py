"""Real engines behind the compatible protocol: speech, transcription, and translation into English.

It takes any model and any voice for its own, and any key. Started by `proofs.media.engines.running`, in the
engines' environment; it says where it listens once everything is loaded.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from proofs.media.engines import READY
from proofs.media.engines.listening import Ear
from proofs.media.engines.request import Refused, read_body, read_form, read_json
from proofs.media.engines.speaking import FORMATS, Voice

MODELS = ("tts-1", "tts-1-hd", "whisper-1")
SLOWEST, FASTEST = 0.25, 4.0


@dataclass(frozen=True)
class Answer:
    body: bytes
    content_type: str = "application/json"
    status: HTTPStatus = HTTPStatus.OK


def as_json(value: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(json.dumps(value).encode(), status=status)


def refusal(status: HTTPStatus, message: str) -> Answer:
    return as_json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


class Handler(BaseHTTPRequestHandler):
    """One connection; the engines are the server's."""

    server: "Engines"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer({"/v1/models": self._models})

    def do_POST(self) -> None:
        self._answer(
            {
                "/v1/audio/speech": self._speech,
                "/v1/audio/transcriptions": lambda: self._text(into_english=False),
                "/v1/audio/translations": lambda: self._text(into_english=True),
            }
        )

    def _answer(self, paths: dict[str, Callable[[], Answer]]) -> None:
        try:
            self._body = read_body(self.headers, self.rfile)
            path = paths.get(self.path)
            answer = path() if path else refusal(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        except Refused as problem:
            # What was not read of the body would be taken for the next request.
            self.close_connection = True
            answer = refusal(HTTPStatus.BAD_REQUEST, str(problem))
        except Exception as problem:
            self.close_connection = True
            answer = refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(problem).__name__}: {problem}")
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _models(self) -> Answer:
        return as_json({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})

    def _speech(self) -> Answer:
        wish = read_json(self._body)
        text, speed, form = wish.get("input"), wish.get("speed", 1), FORMATS.get(wish.get("response_format", "mp3"))
        if not isinstance(text, str) or not text:
            raise Refused("input must be a text")
        if not isinstance(speed, int | float) or not SLOWEST <= speed <= FASTEST:
            raise Refused(f"speed must be a number from {SLOWEST} to {FASTEST}")
        if form is None:
            raise Refused(f"response_format must be one of {', '.join(FORMATS)}")
        return Answer(self.server.voice.say(text, speed, form), form.content_type)

    def _text(self, *, into_english: bool) -> Answer:
        form = read_form(self.headers, self._body)
        words = {name: value.decode(errors="replace") for name, value in form.items() if name != "file"}
        if "file" not in form:
            raise Refused("file is missing")
        if words.get("response_format", "json") != "json":
            raise Refused("response_format must be json")
        language, prompt = words.get("language"), words.get("prompt")
        heard = self.server.ear.hear(form["file"], language=language, prompt=prompt, into_english=into_english)
        usage = {"type": "duration", "seconds": math.ceil(heard.seconds)}
        return as_json({"text": heard.text, "usage": usage})


class Engines(ThreadingHTTPServer):
    """The server on a free port, with its engines loaded."""

    daemon_threads = True

    def __init__(self) -> None:
        self.voice = Voice()
        self.ear = Ear()
        super().__init__(("127.0.0.1", 0), Handler)


if __name__ == "__main__":
    with Engines() as engines:
        print(f"{READY}http://127.0.0.1:{engines.server_port}/v1", flush=True)
        engines.serve_forever()
