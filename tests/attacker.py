"""A customer who sends what should not be sent, and looks whether anybody got it and what it cost."""

from decimal import Decimal
from typing import Any

from tests.chat import chat
from tests.client import Answer, ask
from tests.conftest import PROVIDER_KEY
from tests.customers import ACTOR, Customers, a_model_id
from tollkeeper.core.calls.multipart_form import FormFile, content_type, written, written_with_files
from tollkeeper.core.catalog.models import Kind
from tollkeeper.ports import NewModel, NewPrice
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

USD = "10"
UNTOUCHED = {"remained_cash": 10.0, "used_cash": 0.0, "held_cash": 0.0, "currency": "USD"}
REFUSALS = {"unsupported_parameter", "invalid_parameter"}
BOUNDARY = "a-boundary-of-this-test"
# A hundredth of a second of silence.
SOUND = b"RIFF\xc4\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\xa0\0\0\0" + b"\0" * 160
PICTURE = bytearray(b"\x89PNG\r\n\x1a\n" + bytes(64))


class Attacker:
    def __init__(self, node: Node, simulator: Simulator, key: str, witness: str, models: dict[Kind, str]) -> None:
        """`key` never gets anything for its money; `witness` is the key of an honest customer."""
        self.node = node
        self.simulator = simulator
        self.key = key
        self.witness = witness
        self.models = models

    def chat(self, text: str = "Hi", **fields: Any) -> Answer:
        return chat(self.node, self.key, self.models[Kind.CHAT], text, **fields)

    def image(self, **fields: Any) -> Answer:
        return self._post("/v1/images/generations", Kind.IMAGE, {"prompt": "A cat", **fields})

    def edit(self, **fields: Any) -> Answer:
        form = [
            ("model", self.models[Kind.IMAGE]),
            ("prompt", "A cat"),
            *((name, str(fields[name])) for name in fields),
        ]
        body = b"".join(written_with_files(form, [FormFile("image", "a.png", "image/png", PICTURE)], BOUNDARY))
        return self._send_form("/v1/images/edits", body)

    def embedding(self, **fields: Any) -> Answer:
        return self._post("/v1/embeddings", Kind.EMBEDDING, {"input": "Hi", **fields})

    def response(self, **fields: Any) -> Answer:
        return self._post("/v1/responses", Kind.CHAT, {"input": "Hi", **fields})

    def message(self, **fields: Any) -> Answer:
        said = [{"role": "user", "content": "Hi"}]
        return self._post("/v1/messages", Kind.CHAT, {"max_tokens": 50, "messages": said, **fields})

    def speech(self, **fields: Any) -> Answer:
        return self._post("/v1/audio/speech", Kind.SPEECH, {"input": "Hi", "voice": "alloy", **fields})

    def transcription(self, **fields: Any) -> Answer:
        return self._upload("/v1/audio/transcriptions", fields)

    def translation(self, **fields: Any) -> Answer:
        return self._upload("/v1/audio/translations", fields)

    def check_refused(self, answer: Answer) -> None:
        """Told why, sent to nobody, charged nothing."""
        assert answer.status == 400, answer.text
        assert answer.error["code"] in REFUSALS
        self.check_nothing_came_of(answer)

    def check_nothing_came_of(self, *answers: Answer) -> None:
        """Sent to nobody, charged nothing; and whoever comes next is served."""
        assert not any(PROVIDER_KEY.encode() in answer.text for answer in answers)
        honest = chat(self.node, self.witness, self.models[Kind.CHAT], "Hi")
        assert honest.status == 200, honest.text
        # What was sent before this is in the truth by now.
        self.simulator.wait_for(honest.headers["x-request-id"])
        arrived = {row["request_id"] for row in self.simulator.truth()}
        assert arrived.isdisjoint(answer.headers.get("x-request-id") for answer in answers)
        wait_until(lambda: ask(self.node, "/v2/account/balance", key=self.key).json["balance"] == UNTOUCHED)

    def _post(self, path: str, kind: Kind, fields: dict[str, Any]) -> Answer:
        return ask(self.node, path, method="POST", key=self.key, body={"model": self.models[kind], **fields})

    def _upload(self, path: str, fields: dict[str, Any]) -> Answer:
        form = [("model", self.models[Kind.TRANSCRIPTION]), *((name, str(value)) for name, value in fields.items())]
        return self._send_form(path, b"".join(written(form, SOUND, "a.wav", "audio/wav", BOUNDARY)))

    def _send_form(self, path: str, body: bytes) -> Answer:
        headers = {"Content-Type": content_type(BOUNDARY)}
        return ask(self.node, path, method="POST", key=self.key, headers=headers, body=body)


async def an_attacker(node: Node, townsfolk: Customers, simulator: Simulator) -> Attacker:
    models = {kind: a_model_id() for kind in (Kind.CHAT, Kind.SPEECH, Kind.TRANSCRIPTION, Kind.EMBEDDING, Kind.IMAGE)}
    for kind, model_id in models.items():
        price = NewPrice(model=Decimal(1), variant="1024x1024" if kind is Kind.IMAGE else "")
        await townsfolk.desk.catalog.add_model(NewModel(id=model_id, kind=kind, price=price), actor=ACTOR)
    attacker, witness = await townsfolk.a_customer(usd=USD), await townsfolk.a_customer(usd="1000")
    last = models[Kind.IMAGE]
    wait_until(lambda: last in ask(node, "/v1/models", key=attacker.key).text.decode(), within_seconds=20)
    return Attacker(node, simulator, attacker.key, witness.key, models)
