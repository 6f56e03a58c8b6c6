"""Requests to the operator API as an attacker sends them: over a real connection, with any header, from any address."""

from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any

import msgspec

from tests.office.serving import Served
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.wire import PREFIX

# A second address of this machine, of which the console knows nothing.
ELSEWHERE = "127.0.0.2"
Headers = Sequence[tuple[str, str]]


class Said(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def code(self) -> str:
        return str(msgspec.json.decode(self.text)["error"]["code"])

    @property
    def told(self) -> Any:
        assert self.status == 200, self.text
        return msgspec.json.decode(self.text)


def bearer(key: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {key}"


def say_to(
    served: Served, method: str, path: str, headers: Headers = (), body: object = None, *, source: str = "127.0.0.1"
) -> Said:
    """`path` is sent as it is; below the API where it begins with a word."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=20, source_address=(source, 0))
    try:
        where = path if path.startswith("/") else f"{PREFIX}/{path}"
        connection.putrequest(method, where, skip_host=any(name == "Host" for name, _ in headers))
        sent = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        for name, value in (*headers, ("Content-Length", str(len(sent)))):
            connection.putheader(name, value)
        connection.endheaders(sent)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Said(answer.status, named, answer.read().decode())
    finally:
        connection.close()


def an_account(served: Served, name: str = "Ada") -> int:
    headers = [bearer(served.keys[Scope.EVERYTHING])]
    number: int = say_to(served, "POST", "accounts", headers, {"name": name}).told["account"]
    return number


def lots_of(served: Served, account: int) -> int:
    lots = say_to(served, "GET", f"accounts/{account}/lots", [bearer(served.keys[Scope.READ])]).told["data"]
    return len(lots)
