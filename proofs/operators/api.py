"""The operator API over real HTTP, as programs of staff use it."""

import http.client
from collections.abc import Mapping
from typing import Any

import msgspec

from proofs.rig.console.place import Place
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office
from tollkeeper.office.operator_keys import NewOperatorKeyWish, create_operator_key
from tollkeeper.office.wire import PREFIX

SECONDS = 120.0


class ApiReply(msgspec.Struct, frozen=True):
    status: int
    body: bytes

    @property
    def told(self) -> Any:
        """What an answer says that went well."""
        assert self.status == 200, self.body.decode()
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        """Of a refusal; empty where it is not in the API's form."""
        try:
            return str(msgspec.json.decode(self.body)["error"]["code"])
        except (msgspec.DecodeError, KeyError, TypeError):
            return ""


class Api:
    """One program: a key and a connection."""

    def __init__(self, port: int, key: str, headers: Mapping[str, str] | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self._headers = ({"Authorization": f"Bearer {key}"} if key else {}) | dict(headers or {})

    def get(self, path: str) -> ApiReply:
        return self.send("GET", path)

    def post(self, path: str, once: str = "", /, **fields: object) -> ApiReply:
        """`once`: its idempotency key."""
        return self.send("POST", path, fields, once=once)

    def send(self, method: str, path: str, body: object = None, *, once: str = "") -> ApiReply:
        sent = None if body is None else msgspec.json.encode(body)
        headers = self._headers | ({"Idempotency-Key": once} if once else {})
        try:
            return self._exchange(method, path, sent, headers)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            # The server closed the connection after its last answer.
            self._connection.close()
            return self._exchange(method, path, sent, headers)

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> ApiReply:
        self._connection.request(method, PREFIX + path, body, dict(headers))
        answer = self._connection.getresponse()
        return ApiReply(answer.status, answer.read())


def operator_key(
    place: Place, name: str, *scopes: Scope, settings: Mapping[str, str] | None = None, account: int | None = None
) -> str:
    """The text of a new one. `settings`: of another deployment than the place's own. `account`: whose it is."""

    async def make(desk: Office) -> str:
        wish = NewOperatorKeyWish(name=name, scopes=list(scopes), days=1, account=account)
        return (await create_operator_key(desk, wish, desk.operator)).key

    return place.operate(make, settings=settings)


def key_of_every_scope(place: Place, settings: Mapping[str, str] | None = None) -> dict[Scope, str]:
    return {scope: operator_key(place, f"key-of-{scope.value}", scope, settings=settings) for scope in Scope}
