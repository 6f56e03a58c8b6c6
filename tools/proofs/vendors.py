"""prove-vendors: seven SDKs call four vendors' models in one protocol, and the books agree with the upstream.

Each SDK runs in an environment of its own and calls a model of openai, azure, anthropic and gemini: plain, streamed,
with a tool and its result, with an image, and rejected by the vendor. By hand then: cached input, thoughts and tool
calls, whole and streamed. Each call goes to its vendor once, and is charged to the unit.
"""

import sys
from contextlib import ExitStack

from tools.proofs import say, size
from tools.proofs.sdks import by_hand
from tools.proofs.sdks.environments import AT_ONCE, SDKS, make_all
from tools.proofs.sdks.judge import judge
from tools.proofs.sdks.theatre import Programme, Theatre, finish, whole
from tools.proofs.sdks.vendor_acts import ACTS, VENDORS

SIZES = {"small": ("openai-3", "vercel-ai"), "full": tuple(SDKS)}


def main() -> int:
    sdks = SIZES[size()]
    say("making an environment for each SDK")
    make_all(sdks)
    programme = Programme(
        models=[vendor.model for vendor in VENDORS.values()],
        accounts=[vendor.account for vendor in VENDORS.values()],
        players={**dict.fromkeys(sdks, ACTS), by_hand.PLAYER: by_hand.ACTS},
    )
    with ExitStack() as stack:
        theatre = Theatre(stack, programme)
        say(f"{len(sdks)} SDKs with {len(ACTS)} acts each, {AT_ONCE} at once")
        said = theatre.play(sdks)
        say(f"{len(by_hand.ACTS)} calls by hand")
        said[by_hand.PLAYER] = by_hand.play(theatre.base, theatre.parts)
        evidence = theatre.evidence(said)
        verdicts = [*judge(evidence), *by_hand.judge_figures(evidence), theatre.books()]
    return finish(verdicts, {"sdks": whole(sdks, verdicts), "vendors": whole(tuple(VENDORS), verdicts)})


if __name__ == "__main__":
    sys.exit(main())
