"""The console, as the customer sees it who made the calls: a chat with canaries, and every page that shows calls."""

import http.client
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from proofs.privacy.canaries import Canaries
from proofs.privacy.canary_targets import Targets
from proofs.rig.patience import patience
from tollkeeper.console.table import PAGES
from tools.console import Console

PATIENCE_SECONDS = 30
TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
# What the provider is to do with what is said in the chat. WORD is replaced by a canary.
ANSWERS = (
    "echo=true",
    "echo=true thinking=9",
    'status=400 status_text="WORD is wrong" error_code=WORD',
    'echo=true error_at=2 status_text="WORD broke"',
    "echo=true cut_at=2",
)


class SignedIn:
    """The rich customer's browser."""

    def __init__(self, console: Console, targets: Targets) -> None:
        self._console = console
        self._cookies: dict[str, str] = {}
        self._token = self._token_of("/sign-in")
        fields = {"email": targets.email, "password": targets.password, "form_token": self._token}
        status, _ = self._asked("POST", "/sign-in", urlencode(fields), FORM)
        assert status == http.client.SEE_OTHER, status
        self._token = self._token_of("/chat")

    def page(self, path: str) -> tuple[int, bytes]:
        return self._asked("GET", path)

    def send(self, path: str, body: object) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "X-Form-Token": self._token}
        return self._asked("POST", path, json.dumps(body), headers)

    def _token_of(self, path: str) -> str:
        found = TOKEN.search(self.page(path)[1].decode())
        assert found, path
        return found[1]

    def _asked(self, method: str, path: str, body: str = "", headers: Mapping[str, str] = {}) -> tuple[int, bytes]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        sent = {"Cookie": cookies, "Origin": self._console.base, **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self._console.port, timeout=patience(PATIENCE_SECONDS))
        try:
            connection.request(method, path, body or None, sent)
            answer = connection.getresponse()
            for name, line in answer.getheaders():
                if name.lower() == "set-cookie":
                    cookie, _, value = line.partition(";")[0].partition("=")
                    self._cookies[cookie] = value
            return answer.status, answer.read()
        finally:
            connection.close()


def chats_in_the_console(console: Console, targets: Targets, canaries: Canaries) -> Iterator[str]:
    """Talk to a model of every vendor; what did not happen and should have. Then canaries where they do not belong:
    what a page says to the one who sent them is no sink, what stays of them in a log is."""
    browser = SignedIn(console, targets)
    heard = b""
    for answer in ANSWERS:
        for name in ("openai", "anthropic"):
            directions = answer.replace("WORD", canaries.word(f"chat in the console, {answer}"))
            said = f"{canaries.text(f'chat in the console, {name}, {answer}')} [[{directions}]]"
            wish = {"model": targets.models[name], "messages": [{"role": "user", "text": said}]}
            heard += browser.send("/chat", wish)[1]
    browser.send("/chat", {canaries.word("member of a chat"): canaries.text("a chat that is none")})
    # Not a filter of /usage, which is no word of a call: the database is asked with it.
    for path in ("/{}", "/usage/{}", "/prices/{}", "/chat?model={}"):
        browser.page(path.format(canaries.word(f"console, {path}")))
    if canaries.marker.encode() not in heard:
        yield "the chat in the console said no canary"


def console_pages(console: Console, targets: Targets, receipts: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Every page that needs no more than its path, and pages of single calls and models."""
    browser = SignedIn(console, targets)
    plain = [page.path for page in PAGES if page.method == "GET" and "{" not in page.path]
    prices = [f"/prices/{model}" for model in targets.models.values()]
    calls = [f"{where}/{request_id}" for request_id in receipts for where in ("/usage", "/chat/calls")]
    for path in (*plain, *prices, *calls):
        status, text = browser.page(path)
        yield f"{path}, {status}", text
