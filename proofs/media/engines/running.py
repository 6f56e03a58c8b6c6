"""Real engines for speech and transcription as a real process, offline.

`python -m proofs.media.engines.running` checks them: it speaks a sentence, transcribes what came, and fails if too
few of the words come back.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from difflib import SequenceMatcher
from fractions import Fraction
from pathlib import Path
from typing import Self

from proofs.media.engines import READY
from proofs.media.engines.environment import command, make_engines
from proofs.rig.patience import wait_until
from proofs.rig.project import PROJECT
from tools.node import clean_environment
from tools.services.process import stop_in_order_when_terminated

LOADED_WITHIN_SECONDS = 120.0
ANSWERED_WITHIN_SECONDS = 120.0

SENTENCE = "The quick brown fox jumps over the lazy dog."
BOUNDARY = "tollkeeper-engines-check"
ENOUGH = Fraction(4, 5)


class Engines:
    """One server with real engines, from start to stop; `base` is its address. Its environment is made at need."""

    def __init__(self) -> None:
        self.base = ""
        self._folder = tempfile.TemporaryDirectory(prefix="tollkeeper-engines-")
        self._log = Path(self._folder.name) / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def start(self) -> None:
        make_engines()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command(),
                env=clean_environment() | {"PYTHONPATH": str(PROJECT), "HF_HUB_OFFLINE": "1"},
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(lambda: self._announced() is not None, self._check_alive, LOADED_WITHIN_SECONDS)
        except BaseException:
            self.stop()
            raise
        self.base = self._announced() or ""

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _announced(self) -> str | None:
        """The address, once its line is whole."""
        found = re.search(f"^{READY}(.+)\n", self._log.read_text(), re.MULTILINE)
        return found and found[1]

    def _check_alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the engines ended with {self._process.returncode}:\n{self._log.read_text()[-2000:]}")


def share_of_words(said: str, heard: str) -> Fraction:
    """How many of the words said were heard, in their order; neither case nor punctuation counts."""
    before, after = words_of(said), words_of(heard)
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return Fraction(sum(block.size for block in same), len(before))


def words_of(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def speak(base: str, text: str, response_format: str) -> bytes:
    wish = {"model": "tts-1", "voice": "alloy", "input": text, "response_format": response_format}
    return post(f"{base}/audio/speech", json.dumps(wish).encode(), "application/json")


def transcribe(base: str, sound: bytes, file_name: str) -> str:
    line = f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="'
    fields = f'{line}model"\r\n\r\nwhisper-1\r\n{line}language"\r\n\r\nen\r\n'
    body = f'{fields}{line}file"; filename="{file_name}"\r\n\r\n'.encode()
    body += sound + f"\r\n--{BOUNDARY}--\r\n".encode()
    answer = post(f"{base}/audio/transcriptions", body, f"multipart/form-data; boundary={BOUNDARY}")
    text: str = json.loads(answer)["text"]
    return text


def post(address: str, body: bytes, content_type: str) -> bytes:
    request = urllib.request.Request(address, body, {"content-type": content_type})
    with urllib.request.urlopen(request, timeout=ANSWERED_WITHIN_SECONDS) as answer:
        content: bytes = answer.read()
        return content


def check(base: str, response_format: str) -> bool:
    started = time.monotonic()
    sound = speak(base, SENTENCE, response_format)
    spoken = time.monotonic()
    heard = transcribe(base, sound, f"speech.{response_format}")
    share, seconds = share_of_words(SENTENCE, heard), time.monotonic() - spoken
    print(f"{response_format}: said  {SENTENCE} ({len(sound)} bytes in {spoken - started:.1f} s)")
    print(f"{response_format}: heard {heard} (in {seconds:.1f} s, {float(share):.0%} of the words)")
    return share >= ENOUGH


def main() -> int:
    stop_in_order_when_terminated()
    started = time.monotonic()
    make_engines()
    made = time.monotonic()
    with Engines() as engines:
        print(f"environment in {made - started:.1f} s, engines ready in {time.monotonic() - made:.1f} s")
        came_back = [check(engines.base, response_format) for response_format in ("wav", "mp3")]
    return 0 if all(came_back) else 1


if __name__ == "__main__":
    sys.exit(main())
