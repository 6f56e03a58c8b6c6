"""What somebody does who has only read what the demo says: paste its Python, look at the balance, sign in."""

import re
import subprocess
import sys
import time
from http.cookiejar import CookieJar
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

import msgspec

from proofs.rig.patience import patience

PYTHON = re.compile(r"^python3 - <<'END'\n(.*?)^END$", re.DOTALL | re.MULTILINE)
KEY = re.compile(r"^Key: +(sk-\w+)$", re.MULTILINE)
SIGN_IN = re.compile(r"sign in as (\S+) with: (.+)$", re.MULTILINE)
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
ANSWER_SECONDS = 60


class Heard(msgspec.Struct, frozen=True):
    text: str
    pieces: int
    # By the machine's monotonic clock.
    first_at: float


def paste_python(said: str) -> Heard:
    """The `openai` package is of another environment, as it would be."""
    found = PYTHON.search(said)
    assert found is not None, said
    caller = subprocess.Popen([sys.executable, "-u", "-c", found[1]], stdout=subprocess.PIPE, bufsize=0)
    assert caller.stdout is not None
    pieces = [caller.stdout.read(65_536)]
    first_at = time.monotonic()
    while piece := caller.stdout.read(65_536):
        pieces.append(piece)
    assert caller.wait(patience(ANSWER_SECONDS)) == 0
    return Heard(b"".join(pieces).decode().strip(), len(pieces), first_at)


def key_in(said: str) -> str:
    found = KEY.search(said)
    assert found is not None, said
    return found[1]


def remained_usd(gateway: str, key: str) -> float:
    request = Request(f"{gateway}/v2/account/balance", headers={"authorization": f"Bearer {key}"})
    with build_opener(ProxyHandler({})).open(request, timeout=patience(ANSWER_SECONDS)) as answer:
        return float(msgspec.json.decode(answer.read())["balance"]["remained_cash"])


def signed_in_page(console: str, said: str) -> str:
    """The page that comes after signing in with what the demo says."""
    found = SIGN_IN.search(said)
    assert found is not None, said
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
    with browser.open(f"{console}/sign-in", timeout=patience(ANSWER_SECONDS)) as page:
        hidden = dict(HIDDEN.findall(page.read().decode()))
    form = urlencode(hidden | {"email": found[1], "password": found[2]}).encode()
    headers = {"origin": console, "sec-fetch-site": "same-origin"}
    with browser.open(Request(f"{console}/sign-in", form, headers), timeout=patience(ANSWER_SECONDS)) as page:
        shown: str = page.read().decode()
        return shown
