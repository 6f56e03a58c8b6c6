"""prove-privacy: no word of a call comes to rest anywhere, whatever goes wrong meanwhile.

A canary stands in every field of every kind of call, at every vendor, streamed and whole, and in answers and errors.
Faults happen while such calls are under way. Then every sink is scanned, in every encoding: database, Redis, logs,
journal, files, mails, commands, pages. A control that is planted in each must be found; a canary must not.
"""

import asyncio
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec

from tollkeeper.app import VENDORS
from tools.proofs import conclude, say, seed, size
from tools.proofs.privacy_rig.canaries import Canaries
from tools.proofs.privacy_rig.chat_calls import chat_calls
from tools.proofs.privacy_rig.controls import Controls
from tools.proofs.privacy_rig.evidence import age, gathered, missing
from tools.proofs.privacy_rig.faults import Faults
from tools.proofs.privacy_rig.media_calls import image_calls, speech_calls, upload_calls
from tools.proofs.privacy_rig.odd_calls import odd_calls
from tools.proofs.privacy_rig.open_files import OpenFiles
from tools.proofs.privacy_rig.raw_http import Call, Heard, place
from tools.proofs.privacy_rig.rig import Rig
from tools.proofs.privacy_rig.scan import Scanner
from tools.proofs.privacy_rig.sinks import Sink

ROUNDS = {"small": 1, "full": 10}
CALLS_AT_ONCE = 8
HITS_SHOWN = 20


class Found(msgspec.Struct):
    """What the scanner found: canaries by where they were put, and the controls."""

    hits: list[str] = []
    controls: set[str] = set()
    scanned_bytes: int = 0


def main() -> int:
    rounds = ROUNDS[size()]
    chance = random.Random(seed())
    canaries, controls = Canaries(chance), Controls(Canaries(chance))
    with ExitStack() as stack:
        say("starting a deployment whose every file is known")
        rig = Rig(stack, controls.word)
        open_files = OpenFiles(rig.pids, rig.known_folders())
        open_files.start()
        try:
            heard: list[Heard] = []
            problems: list[str] = []
            for _ in range(rounds):
                calm = _placed(rig.node.port, list(_calls(rig, canaries)))
                calm += _placed(rig.front.port, list(_calls_at_the_front(rig, canaries)))
                problems += _not_said(calm, canaries, rig)
                faults = Faults(rig, canaries)
                problems += [f"no call met: {name}" for name, calls in faults.happen().items() if not calls]
                heard += [*calm, *faults.heard]
            asyncio.run(age(rig))
        finally:
            open_files.stop()
        sinks = gathered(rig, heard, open_files, lambda: asyncio.run(controls.plant(rig, open_files)))
        found = _scanned(sinks, canaries, controls)
        problems += asyncio.run(missing(rig))
    return _finish(found, canaries, controls, sinks, problems)


def _calls(rig: Rig, canaries: Canaries) -> Iterator[Call]:
    models, key = rig.ground.models, rig.ground.key
    for vendor in VENDORS:
        for streamed in (False, True):
            yield from chat_calls(canaries, models[vendor], key, streamed=streamed)
    yield from image_calls(canaries, models["image"], key)
    yield from speech_calls(canaries, models["speech"], key)
    yield from upload_calls(canaries, models["transcription"], key)
    yield from odd_calls(canaries, models["openai"], key)


def _calls_at_the_front(rig: Rig, canaries: Canaries) -> Iterator[Call]:
    """It reads heads and passes bodies on: those that are odd, and some of each kind."""
    models, key = rig.ground.models, rig.ground.key
    yield from odd_calls(canaries, models["openai"], key)
    yield from chat_calls(canaries, models["openai"], key, streamed=True)
    yield from upload_calls(canaries, models["transcription"], key)


def _placed(port: int, calls: Sequence[Call]) -> list[Heard]:
    say(f"{len(calls)} calls with canaries, {CALLS_AT_ONCE} at once")
    with ThreadPoolExecutor(CALLS_AT_ONCE) as hands:
        heard = list(hands.map(lambda call: place(port, call), calls))
    statuses = sorted({one.status for one in heard})
    say("answered " + ", ".join(f"{status}: {sum(one.status == status for one in heard)}" for status in statuses))
    return heard


def _not_said(heard: Sequence[Heard], canaries: Canaries, rig: Rig) -> Iterator[str]:
    """Canaries that never went through prove nothing: every model must have said one."""
    for name, model in rig.ground.models.items():
        of_model = [one for one in heard if model.encode() in one.call.body and one.status == 200]
        if not of_model or (name != "speech" and not any(canaries.marker.encode() in one.text for one in of_model)):
            yield f"{name} said no canary"


def _scanned(sinks: Sequence[Sink], canaries: Canaries, controls: Controls) -> Found:
    found = Found()
    unwanted, wanted = Scanner(canaries.marker), Scanner(controls.canaries.marker)
    for sink in sinks:
        began, before = time.monotonic(), found.scanned_bytes
        for piece, data in sink.pieces():
            found.scanned_bytes += len(data)
            for find in unwanted.finds(data):
                where = canaries.place_of(find.number)
                found.hits.append(f"{sink.name}, {piece}: {find.encoding}, put in {where}: {find.context!r}")
            for find in wanted.finds(data):
                found.controls |= {f"{sink.name}, {find.encoding}"}
                if find.number == controls.words.get(sink.name, "")[-len(find.number) :] and find.number:
                    found.controls |= {sink.name}
        size_mb = (found.scanned_bytes - before) / 1_000_000
        say(f"scanned: {sink.name}, {size_mb:.1f} MB in {time.monotonic() - began:.1f} s")
    return found


def _finish(found: Found, canaries: Canaries, controls: Controls, sinks: Sequence[Sink], problems: list[str]) -> int:
    planted = controls.words.keys() | {sink.name for sink in sinks}
    blind = sorted(planted - found.controls)
    for problem in (
        *(f"HIT {hit}" for hit in found.hits[:HITS_SHOWN]),
        *(f"BLIND {sink}" for sink in blind),
        *problems,
    ):
        say(problem)
    figures = {"canaries": len(canaries.where), "sinks": len(sinks), "hits": len(found.hits)}
    conclude({**figures, "controls_found": f"{len(planted) - len(blind)}/{len(planted)}"})
    return 1 if found.hits or blind or problems else 0


if __name__ == "__main__":
    sys.exit(main())
