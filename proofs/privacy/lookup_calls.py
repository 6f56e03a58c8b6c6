"""Calls that ask no provider: what a call would cost, and balances by key, with canaries in every field."""

import json
from collections.abc import Iterator
from urllib.parse import urlencode

from proofs.privacy.canaries import Canaries
from proofs.privacy.chat_calls import PATH as CHAT
from proofs.privacy.dialect_calls import MESSAGES, RESPONSES
from proofs.privacy.media_calls import EMBEDDINGS
from proofs.privacy.raw_http import Call, json_call

QUOTE = "/v2/quote"
BALANCE_FORMS = ("/balance", "/en/balance", "/zh/balance")
BALANCES_BY_BODY = ("/api/token", "/api/v1/token")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def quote_calls(canaries: Canaries, chat: str, embedding: str, key: str) -> Iterator[Call]:
    def text(where: str) -> str:
        return canaries.text(f"quote, {where}")

    def call(where: str, **body: object) -> Call:
        return json_call(f"quote, {where}", QUOTE, body, key)

    yield call("chat", model=chat, messages=[{"role": "user", "content": text("chat")}])
    yield call("Messages", endpoint=MESSAGES, model=chat, max_tokens=9, messages=[_turn(text("Messages"))])
    yield call("Responses", endpoint=RESPONSES, model=chat, input=text("Responses"), instructions=text("instructions"))
    yield call("embeddings", endpoint=EMBEDDINGS, model=embedding, input=text("embeddings"))
    yield call("an unknown endpoint", endpoint=text("endpoint"), model=chat, messages=[_turn(text("body"))])
    yield call("an unknown model", endpoint=CHAT, model=text("model"), messages=[_turn(text("body"))])
    yield call("an unknown parameter", model=chat, **{canaries.word("parameter of a quote"): text("parameter")})


def balance_calls(canaries: Canaries, key: str) -> Iterator[Call]:
    for path in BALANCE_FORMS:
        beside = {canaries.word(f"field of {path}"): canaries.text(f"value at {path}")}
        fields = {"api_key": key, **beside}
        yield Call(name=f"{path}, a good key", path=path, headers=FORM, body=urlencode(fields).encode())
        wrong = {"api_key": f"sk-{canaries.word(f'key at {path}')}", **beside}
        yield Call(name=f"{path}, a wrong key", path=path, headers=FORM, body=urlencode(wrong).encode())
        no_form = canaries.text(f"no form at {path}").encode()
        yield Call(name=f"{path}, no form", path=path, headers=FORM, body=no_form)
        asked = f"{path}?api_key=sk-{canaries.word(f'query of {path}')}"
        yield Call(name=f"a query of {path}", path=asked, method="GET")
    for path in BALANCES_BY_BODY:
        body = json.dumps({"api_key": key, canaries.word(f"member at {path}"): canaries.text(f"more at {path}")})
        yield Call(name=f"{path}, a good key", path=path, body=body.encode())


def _turn(said: str) -> dict[str, str]:
    return {"role": "user", "content": said}
