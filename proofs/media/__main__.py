"""prove-media: images, speech, transcription and translation, each charged by hand's reckoning to the unit.

The `openai` packages of PyPI and npm call each endpoint plain, with every documented option, and in every way that is
refused. Sixty priced cases stand in a table with what each must cost. A hundred hostile uploads leave a node as it was.
With REAL=1, by hand: a real engine speaks through the gateway, and another writes down what it heard.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from proofs.media import real
from proofs.media.acts import ACCOUNT, ACTS, MODELS, MediaAct
from proofs.media.audio_cases import AUDIO_CASES
from proofs.media.case import Case
from proofs.media.hostile_storm import Weather
from proofs.media.http_call import Answer, call
from proofs.media.image_cases import IMAGE_CASES
from proofs.media.speech_cases import SPEECH_CASES
from proofs.media.verdicts import judge_cases, judge_sdks, judge_storm
from proofs.rig.checks import failed
from proofs.rig.proof import Run, prove, say
from proofs.rig.sdks.environments import make_all
from proofs.rig.sdks.theatre import Programme, Theatre

SDKS = ("openai-3", "openai-node")
CASES = (*SPEECH_CASES, *AUDIO_CASES, *IMAGE_CASES)
REPETITIONS = {"small": 1, "full": 5}
CASES_AT_ONCE = 4

BY_HAND = "by hand"
KEYS = {
    "cases": MediaAct(calls=len(CASES)),
    "chats": MediaAct(reaches_upstream=False),
    "good ones after": MediaAct(calls=len(AUDIO_CASES)),
}
# Who sends many files waits for them one after the other; so there are several.
ATTACKERS = {f"attacker {number}": {"uploads": MediaAct(reaches_upstream=False)} for number in range(4)}


def main(run: Run) -> int:
    if os.environ.get("REAL"):
        return real.main(run)
    assert len(CASES) == len({case.name for case in CASES}) == 60
    say("making an environment for each SDK")
    make_all(SDKS)
    players = {**dict.fromkeys(SDKS, ACTS), BY_HAND: KEYS, **ATTACKERS}
    programme = Programme(models=MODELS, accounts=[ACCOUNT], players=players)
    with ExitStack() as stack:
        theatre = Theatre(stack, programme)
        keys = {part.name: part.key for part in theatre.parts if part.player == BY_HAND}
        attackers = [part.key for part in theatre.parts if part.player in ATTACKERS]
        say(f"{len(CASES)} priced cases")
        outcomes = played(CASES, theatre.base, keys["cases"])
        storm = Weather(theatre.node, upload_keys=attackers, chat_key=keys["chats"]).blow(REPETITIONS[run.size])
        say(f"{len(AUDIO_CASES)} good uploads after them; the node has grown by {storm.growth_bytes:+,} bytes")
        afterwards = played(AUDIO_CASES, theatre.base, keys["good ones after"])
        say(f"{len(SDKS)} SDKs with {len(ACTS)} acts each")
        said = theatre.play(SDKS)
        evidence = theatre.evidence(said)
        truth, receipts = theatre.simulator.truth(), {receipt.request_id: receipt for receipt in evidence.receipts}
        exact = list(judge_cases(outcomes, receipts, truth))
        run.figures |= {"cases": len(exact), "exact": sum(check.holds for check in exact)}
        others = [
            *judge_sdks(evidence, SDKS, truth),
            *judge_storm(storm, receipts),
            *judge_cases(afterwards, receipts, truth),
            theatre.books(),
        ]
    wrong = failed([*exact, *others])
    run.figures |= {"sdk_checks": len(SDKS) * len(ACTS), "failed": len(wrong)}
    return 1 if wrong else 0


def played(cases: Sequence[Case], base: str, key: str) -> list[tuple[Case, Answer]]:
    with ThreadPoolExecutor(CASES_AT_ONCE) as hands:
        return list(zip(cases, hands.map(lambda case: call(base, key, case.order()), cases), strict=True))


if __name__ == "__main__":
    prove(main, "cases", "exact", "sdk_checks", "failed")
