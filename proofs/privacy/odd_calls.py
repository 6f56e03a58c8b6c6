"""Calls that nobody should make: canaries in headers, queries, paths, methods and hosts, and in unreadable bodies."""

import json
from collections.abc import Iterator

from proofs.privacy.canaries import Canaries
from proofs.privacy.chat_calls import PATH
from proofs.privacy.lookup_calls import BALANCES_BY_BODY
from proofs.privacy.raw_http import Call

HEADERS = (
    *("User-Agent", "Referer", "Cookie", "Origin", "Accept", "Accept-Language", "Accept-Encoding", "X-Request-Id"),
    *("X-Forwarded-For", "Forwarded", "Via", "Idempotency-Key", "OpenAI-Organization", "OpenAI-Beta", "X-Title"),
    *("Content-Type", "Content-Encoding", "Expect", "Range", "If-None-Match", "traceparent", "baggage", "Upgrade"),
)
PLAIN_PATHS = ("/v1/models", "/v2/account/balance", "/v2/token/balance", "/prices", "/prices.json", "/prices.atom")
# Paths with a canary in them.
PLACES = (
    *("/v1/{}", "/{}", "/v1/chat/completions/{}", "/v1/models/{}", "/v2/calls/{}", "/v1/%7B{}%7D", "/v1/a b/../{}"),
)
DEEP = 5_000


def odd_calls(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    yield from _heads(canaries, model, key)
    yield from _paths(canaries, model, key)
    yield from _bodies(canaries, key)


def _good(canaries: Canaries, model: str, where: str) -> bytes:
    message = {"role": "user", "content": f"{canaries.text(where)} [[echo=true]]"}
    return json.dumps({"model": model, "messages": [message], "max_tokens": 200}).encode()


def _heads(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    for header in (*HEADERS, f"X-{canaries.word('name of a header')}"):
        where = f"header {header}"
        body = _good(canaries, model, f"body, {where}")
        yield Call(name=where, path=PATH, body=body, key=key, headers={header: canaries.word(where)})
    wrong = f"sk-{canaries.word('a wrong key')}"
    yield Call(name="a wrong key", path=PATH, body=_good(canaries, model, "body, a wrong key"), key=wrong)
    basic = {"Authorization": f"Basic {canaries.word('a wrong scheme')}"}
    yield Call(name="a wrong scheme", path=PATH, body=_good(canaries, model, "body, a wrong scheme"), headers=basic)
    host = f"{canaries.word('host')}.example"
    yield Call(name="a wrong host", path=PATH, body=_good(canaries, model, "body, a wrong host"), key=key, host=host)
    method = canaries.word("method").upper()
    yield Call(name="a wrong method", path=PATH, body=b"{}", key=key, method=method)


def _paths(canaries: Canaries, model: str, key: str) -> Iterator[Call]:
    query = f"{PATH}?q={canaries.word('query')}&{canaries.word('name in a query')}=1"
    yield Call(name="a query", path=query, body=_good(canaries, model, "body, a query"), key=key)
    for path in PLAIN_PATHS:
        yield Call(name=f"a query of {path}", path=f"{path}?q={canaries.word(path)}", method="GET", key=key)
    for path in BALANCES_BY_BODY:
        body = json.dumps({"api_key": f"sk-{canaries.word(path)}", "more": canaries.text(path)}).encode()
        yield Call(name=path, path=path, body=body)
    places = (
        "/v1/{}",
        "/{}",
        "/v1/chat/completions/{}",
        "/v1/models/{}",
        "/v2/calls/{}",
        "/v1/%7B{}%7D",
        "/v1/a b/../{}",
    )
    for number, place in enumerate(places):
        for method in ("GET", "POST", "OPTIONS"):
            path = place.format(canaries.word(f"path {number}, {method}")).replace(" ", "%20")
            yield Call(name=f"{method} of an unknown path", path=path, method=method, key=key)
    whole = f"http://{canaries.word('host of a proxy call')}/v1/models"
    yield Call(name="a proxy call", path=whole, method="GET", key=key)


def _bodies(canaries: Canaries, key: str) -> Iterator[Call]:
    text = canaries.text("a body that is no JSON")
    bodies = {
        "no JSON": text.encode(),
        "half a JSON": json.dumps({"model": text, "messages": [text]}).encode()[:-5],
        "JSON and more": b"{}" + text.encode(),
        "a list": json.dumps([text]).encode(),
        "a string": json.dumps(text).encode(),
        "not UTF-8": b'{"model": "' + text.encode("utf-16") + b'\xff"}',
        "two models": b'{"model": "%b", "model": "%b"}' % (text[5:20].encode(), text[5:20].encode()),
        "a lone surrogate": b'{"model": "\\ud800%b"}' % text[5:20].encode(),
        "deep": b'{"model":' + b"[" * DEEP + json.dumps(text).encode() + b"]" * DEEP + b"}",
        "a large number": b'{"model": "%b", "n": 1e999}' % text[5:20].encode(),
        "nothing in a form": b"--" + text.encode(),
    }
    for name, body in bodies.items():
        yield Call(name=f"a body of {name}", path=PATH, body=body, key=key)
    cut = Call(name="half a body", path=PATH, body=text.encode() * 500, key=key)
    yield Call(name=cut.name, path=PATH, body=cut.body, key=key, sent_bytes=len(cut.request()) // 2)
    wrong = {"Transfer-Encoding": "chunked", "Content-Length": "3"}
    yield Call(name="two lengths", path=PATH, body=text.encode(), key=key, headers=wrong)
    chunked = b"%x\r\n%b\r\n0\r\nX-Trailer: %b\r\n\r\n" % (len(text.encode()), text.encode(), text[5:20].encode())
    yield Call(name="no chunks", path=PATH, body=chunked, key=key, headers={"Content-Length": str(len(chunked))})
