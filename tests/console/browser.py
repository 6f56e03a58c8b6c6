"""A browser without a window, in the same process: cookies, forms and redirects, as far as the console needs them."""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit

import msgspec
from starlette.applications import Starlette

ORIGIN = "https://console.example"
TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    @property
    def cookies(self) -> list[str]:
        return [value for key, value in self.headers if key == "set-cookie"]

    @property
    def goes_to(self) -> str:
        return self.header("location")

    def hidden(self) -> dict[str, str]:
        """The hidden fields of the page, the last of each name."""
        return {name: unescape(value) for name, value in HIDDEN.findall(self.text)}


class Browser:
    def __init__(self, application: Starlette, *, origin: str = ORIGIN) -> None:
        """Each from a network of its own: attempts are counted by network."""
        self._application = application
        self._ip = f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"
        self._origin = origin
        self.cookies: dict[str, str] = {}
        self.page = Answer(0, [], "")
        # What happens between the head of a request and its body.
        self.before_body: Callable[[], Awaitable[object]] | None = None

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.send("GET", path, headers=headers)

    async def post(self, path: str, **fields: str) -> Answer:
        """As from a form of the page that is open, with its token."""
        token = TOKEN.search(self.page.text)
        filled = ({"form_token": token[1]} if token else {}) | fields
        return await self.send("POST", path, body=urlencode(filled).encode(), headers={"origin": self._origin})

    async def follow(self) -> Answer:
        return await self.get(self.page.goes_to)

    async def send(
        self, method: str, path: str, *, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        sent = {"host": urlsplit(self._origin).netloc, "user-agent": "a test"} | dict(headers or {})
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body:
            sent.setdefault("content-type", "application/x-www-form-urlencoded")
        answer = await self._exchange(method, path, body, sent)
        for line in answer.cookies:
            self._keep(line)
        if answer.status == 200 or answer.status >= 400 or answer.goes_to:
            self.page = answer if answer.text or answer.goes_to else self.page
        return answer

    def _keep(self, line: str) -> None:
        for name, morsel in SimpleCookie(line).items():
            if morsel["max-age"] == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value

    async def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(path)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
            "client": (self._ip, 4711),
            "server": ("console.example", 443),
        }
        begun: list[dict[str, object]] = []

        async def receive() -> dict[str, object]:
            if self.before_body is not None:
                await self.before_body()
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, object]) -> None:
            begun.append(message)

        await self._application(scope, receive, send)  # type: ignore[arg-type]
        start = msgspec.convert(begun[0], dict)
        text = b"".join(message.get("body", b"") for message in begun[1:])  # type: ignore[misc]
        return Answer(
            int(start["status"]),
            [(name.decode(), value.decode()) for name, value in start["headers"]],
            text.decode(errors="replace"),
        )
