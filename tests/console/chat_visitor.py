"""A browser's part in the chat over real sockets: signs in, sends, reads lines as they come, and hangs up."""

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from tests.people import Person
from tools.console import Console

TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


def said(text: str, *pictures: str, role: str = "user") -> dict[str, object]:
    return {"role": role, "text": text} | ({"pictures": list(pictures)} if pictures else {})


class ChatVisitor:
    def __init__(self, console: Console, person: Person, own_ip: str = "127.0.0.1") -> None:
        """`own_ip`: the address of this machine that they call from."""
        self._port, self._origin, self._own_ip = console.port, console.base, own_ip
        self.cookies: dict[str, str] = {}
        self.token = self._token(self.page("/sign-in")[1])
        status, _ = self.page("/sign-in", email=person.email, password=person.password)
        assert status == 303
        self.token = self._token(self.page("/chat")[1])

    @property
    def session_token(self) -> str:
        return self.cookies["tollkeeper-unsafe"]

    def page(self, path: str, **fields: str) -> tuple[int, str]:
        """With fields, a form that is posted."""
        with self._asked(path, {"form_token": self.token, **fields} if fields else None) as answer:
            return answer.status, answer.read().decode()

    def sign_out(self) -> None:
        assert self.page("/sign-out", sent="1")[0] == 303

    @contextmanager
    def sent(self, model: str, *messages: dict[str, object]) -> Iterator[http.client.HTTPResponse]:
        """The answer, as far as the test likes to read it. Leaving the block hangs up."""
        order = json.dumps({"model": model, "messages": messages})
        with self._asked("/chat", order) as answer:
            yield answer

    def answer(self, model: str, *messages: dict[str, object]) -> list[dict[str, Any]]:
        """All lines of it."""
        with self.sent(model, *messages) as answer:
            return [json.loads(line) for line in answer.read().splitlines() if line]

    def cost(self, call: str) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.page(f"/chat/calls/{call}")[1])
        return found

    @contextmanager
    def _asked(self, path: str, sent: dict[str, str] | str | None) -> Iterator[http.client.HTTPResponse]:
        own = (self._own_ip, 0)
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30, source_address=own)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        with_origin = headers | {"Origin": self._origin}
        if sent is None:
            connection.request("GET", path, headers=headers)
        elif isinstance(sent, str):
            connection.request("POST", path, sent, with_origin | JSON | {"X-Form-Token": self.token})
        else:
            connection.request("POST", path, urlencode(sent), with_origin | FORM)
        answer = connection.getresponse()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                self._keep(value)
        try:
            yield answer
        finally:
            answer.close()
            connection.close()

    def _keep(self, line: str) -> None:
        name, _, value = line.partition(";")[0].partition("=")
        self.cookies[name] = value

    def _token(self, page: str) -> str:
        found = TOKEN.search(page)
        assert found
        return found[1]


def words(lines: list[dict[str, Any]]) -> str:
    return "".join(line.get("text", "") for line in lines)


def next_line(answer: http.client.HTTPResponse, name: str) -> Any:
    """What the next line that has it says under that name."""
    while line := answer.readline():
        told = json.loads(line) if line.strip() else {}
        if name in told:
            return told[name]
    raise AssertionError(f"no line says {name}")
