"""Requests without a browser, straight to the console: for attacks that no browser would send, and for measuring."""

import http.client
import re
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec

from proofs.rig.console.place import Person

TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
SESSION_COOKIE = "__Host-tollkeeper"
SECONDS = 120.0


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def cookies(self) -> list[str]:
        return [value for key, value in self.headers if key.lower() == "set-cookie"]


class Wire:
    """One visitor's cookies, and one connection."""

    def __init__(self, port: int, origin: str, ip: str) -> None:
        self.cookies: dict[str, str] = {}
        self.token = ""
        self.origin = origin
        # As a browser says it of a form on the page's own site.
        self.own_page = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        self._always = {"X-Forwarded-For": ip, "Host": origin.partition("//")[2], "User-Agent": "a proof"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        reply = self.ask("GET", path, headers=headers)
        if found := TOKEN.search(reply.text):
            self.token = found[1]
        return reply

    def post(self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Reply:
        """As the page's own form, with the token of the page that was last asked for."""
        body = urlencode({"form_token": self.token} | dict(fields))
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, body, form | dict(self.own_page if headers is None else headers))

    def ask(self, method: str, path: str, body: str = "", headers: Mapping[str, str] | None = None) -> Reply:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        told = self._always | ({"Cookie": cookies} if cookies else {}) | dict(headers or {})
        try:
            answer, raw = self._exchange(method, path, body, told)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            # The server ends a connection whose last request it refused without reading its body to the end. Browsers
            # then open another one, and so does this.
            self._connection.close()
            answer, raw = self._exchange(method, path, body, told)
        reply = Reply(status=answer.status, headers=answer.getheaders(), text=raw.decode(errors="replace"))
        for line in reply.cookies:
            name, _, rest = line.partition("=")
            value = rest.partition(";")[0].strip('"')
            self.cookies.pop(name, None)
            if value and "max-age=0" not in rest.lower():
                self.cookies[name] = value
        return reply

    def _exchange(
        self, method: str, path: str, body: str, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        self._connection.request(method, path, body.encode() if body else None, headers)
        answer = self._connection.getresponse()
        return answer, answer.read()

    def first_byte(self, path: str) -> int:
        """Ask for a page and hear only its beginning; the status. The connection is over then."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self._connection.request("GET", path, headers=self._always | {"Cookie": cookies})
        answer = self._connection.getresponse()
        answer.read(1)
        self._connection.close()
        return answer.status

    def sign_in(self, person: Person) -> None:
        self.get("/sign-in")
        reply = self.post("/sign-in", {"email": person.email, "password": person.password})
        assert reply.status == 303, reply.text
        self.get("/")

    @property
    def session(self) -> str:
        return self.cookies.get(SESSION_COOKIE, "")
