"""prove-media: images, speech, transcription and translation, each charged by hand's reckoning to the unit.

The `openai` packages of PyPI and npm call each endpoint plain, with every documented option, and in every way that is
refused. Sixty priced cases stand in a table with what each must cost. A hundred hostile uploads leave a node as it was.
With REAL=1, by hand: a real engine speaks through the gateway, and another writes down what it heard.
"""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tools.proofs import conclude, say, size
from tools.proofs.media_rig import real
from tools.proofs.media_rig.acts import ACCOUNT, ACTS, MODELS, MediaAct
from tools.proofs.media_rig.audio_cases import AUDIO_CASES
from tools.proofs.media_rig.caller import Answer, call
from tools.proofs.media_rig.case import Case
from tools.proofs.media_rig.image_cases import IMAGE_CASES
from tools.proofs.media_rig.judge import judge_cases, judge_sdks, judge_storm
from tools.proofs.media_rig.speech_cases import SPEECH_CASES
from tools.proofs.media_rig.storm import Weather
from tools.proofs.sdks.environments import make_all
from tools.proofs.sdks.judge import Verdict
from tools.proofs.sdks.theatre import Programme, Theatre

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


def main() -> int:
    chosen = size()
    if os.environ.get("REAL"):
        return real.prove()
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
        storm = Weather(theatre.node, upload_keys=attackers, chat_key=keys["chats"]).blow(REPETITIONS[chosen])
        say(f"{len(AUDIO_CASES)} good uploads after them; the node has grown by {storm.growth_bytes:+,} bytes")
        afterwards = played(AUDIO_CASES, theatre.base, keys["good ones after"])
        say(f"{len(SDKS)} SDKs with {len(ACTS)} acts each")
        said = theatre.play(SDKS)
        evidence = theatre.evidence(said)
        truth, receipts = theatre.simulator.truth(), {receipt.request_id: receipt for receipt in evidence.receipts}
        exact = list(judge_cases(outcomes, receipts, truth))
        others = [
            *judge_sdks(evidence, SDKS, truth),
            *judge_storm(storm, receipts),
            *judge_cases(afterwards, receipts, truth),
            theatre.books(),
        ]
    return finish(exact, others)


def played(cases: Sequence[Case], base: str, key: str) -> list[tuple[Case, Answer]]:
    with ThreadPoolExecutor(CASES_AT_ONCE) as hands:
        return list(zip(cases, hands.map(lambda case: call(base, key, case.order()), cases), strict=True))


def finish(exact: Sequence[Verdict], others: Sequence[Verdict]) -> int:
    failed = [verdict for verdict in (*exact, *others) if not verdict.holds]
    for verdict in failed:
        say(f"FAILED {verdict.name}: {verdict.detail}")
    figures = {"cases": len(exact), "exact": sum(verdict.holds for verdict in exact)}
    conclude({**figures, "sdk_checks": len(SDKS) * len(ACTS), "failed": len(failed)})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
