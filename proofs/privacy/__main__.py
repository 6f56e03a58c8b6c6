"""prove-privacy: no word of a call comes to rest anywhere, whatever goes wrong meanwhile.

A canary stands in every field of every kind of call, at every vendor, streamed and whole, and in answers and errors.
Faults happen while such calls are under way. Then every sink is scanned, in every encoding: database, Redis, logs,
journal, files, mails, traces, metrics, commands, pages, the console. A control that is planted in each must be found;
a canary must not.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec

from proofs.privacy.canaries import Canaries
from proofs.privacy.chat_calls import chat_calls
from proofs.privacy.console_pages import chats_in_the_console
from proofs.privacy.contained import ContainedDeployment
from proofs.privacy.controls import Controls
from proofs.privacy.every_call import every_call
from proofs.privacy.gathering import age, gathered, missing
from proofs.privacy.media_calls import upload_calls
from proofs.privacy.mishaps import Faults
from proofs.privacy.odd_calls import odd_calls
from proofs.privacy.open_files import OpenFiles
from proofs.privacy.raw_http import Call, Heard, place
from proofs.privacy.scan import Scanner
from proofs.privacy.sinks import Sink
from proofs.rig.proof import Run, prove, say, seed
from tollkeeper.app.providers import VENDORS
from tollkeeper.edge.routes import ROUTES

ROUNDS = {"small": 1, "full": 10}
CALLS_AT_ONCE = 8
HITS_SHOWN = 20
# Models whose answers have none.
WITHOUT_WORDS = ("speech", "embedding")


class Found(msgspec.Struct):
    """What the scanner found: canaries by where they were put, and the controls."""

    hits: list[str] = []
    controls: set[str] = set()
    scanned_bytes: int = 0


def main(run: Run) -> int:
    rounds = ROUNDS[run.size]
    chance = random.Random(seed())
    canaries, controls = Canaries(chance), Controls(Canaries(chance))
    with ExitStack() as stack:
        say("starting a deployment whose every file is known")
        site = ContainedDeployment(stack, controls.word)
        open_files = OpenFiles(site.pids, site.known_folders())
        open_files.start()
        try:
            heard: list[Heard] = []
            problems: list[str] = []
            for _ in range(rounds):
                calm = _placed(site.node.port, list(every_call(site.targets, canaries, VENDORS)))
                calm += _placed(site.front.port, list(_calls_at_the_front(site, canaries)))
                problems += [*_not_said(calm, canaries, site), *_not_answered(calm)]
                faults = Faults(site, canaries)
                problems += [f"no call met: {name}" for name, calls in faults.happen().items() if not calls]
                heard += [*calm, *faults.heard]
            problems += chats_in_the_console(site.console, site.targets, canaries)
            asyncio.run(age(site))
        finally:
            open_files.stop()
        sinks = gathered(site, heard, open_files, lambda: asyncio.run(controls.plant(site, open_files)))
        found = _scanned(sinks, canaries, controls)
        problems += asyncio.run(missing(site))
    return _finish(run, found, (canaries, controls), sinks, problems)


def _calls_at_the_front(site: ContainedDeployment, canaries: Canaries) -> Iterator[Call]:
    """It reads heads and passes bodies on: those that are odd, and some of each kind."""
    models, key = site.targets.models, site.targets.key
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


def _not_said(heard: Sequence[Heard], canaries: Canaries, site: ContainedDeployment) -> Iterator[str]:
    """Canaries that never went through prove nothing: every model must have said one."""
    for name, model in site.targets.models.items():
        of_model = [one for one in heard if model.encode() in one.call.body and one.status == 200]
        if not of_model or (
            name not in WITHOUT_WORDS and not any(canaries.marker.encode() in one.text for one in of_model)
        ):
            yield f"{name} said no canary"


def _not_answered(heard: Sequence[Heard]) -> Iterator[str]:
    """Of every route that takes a body, one with a canary must have gone well."""
    answered = {one.call.path for one in heard if one.status == 200}
    for route in ROUTES:
        if route.method == "POST" and route.path not in answered:
            yield f"no call to {route.path} went well"


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


def _finish(
    run: Run, found: Found, planted_by: tuple[Canaries, Controls], sinks: Sequence[Sink], problems: list[str]
) -> int:
    canaries, controls = planted_by
    planted = controls.words.keys() | {sink.name for sink in sinks}
    blind = sorted(planted - found.controls)
    for problem in (
        *(f"HIT {hit}" for hit in found.hits[:HITS_SHOWN]),
        *(f"BLIND {sink}" for sink in blind),
        *problems,
    ):
        say(problem)
    run.figures |= {"canaries": len(canaries.where), "sinks": len(sinks), "hits": len(found.hits)}
    run.figures["controls_found"] = f"{len(planted) - len(blind)}/{len(planted)}"
    return 1 if found.hits or blind or problems else 0


if __name__ == "__main__":
    prove(main, "canaries", "sinks", "hits", "controls_found")
