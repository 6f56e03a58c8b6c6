"""prove-relay: five SDKs call through the gateway as their users would, and the books agree with the upstream.

Each SDK runs in an environment of its own, over real sockets, with its default retries: plain, streamed, tool call,
image input, wrong key, unknown model, insufficient quota, the cut of long calls, a stream broken in the middle. No
refusal is sent twice, no failure looks like success, and each call upstream is charged once, exactly.
"""

import sys
from contextlib import ExitStack

from tools.proofs import say, size
from tools.proofs.sdks.environments import AT_ONCE, make_all
from tools.proofs.sdks.judge import judge
from tools.proofs.sdks.relay_acts import ACCOUNT, ACTS, CUT_SECONDS, MODEL
from tools.proofs.sdks.theatre import Programme, Theatre, finish, whole

SDKS = ("openai-3", "openai-2", "langchain-openai", "openai-node", "vercel-ai")


def main() -> int:
    size()
    say("making an environment for each SDK")
    make_all(SDKS)
    programme = Programme(models=[MODEL], accounts=[ACCOUNT], players=dict.fromkeys(SDKS, ACTS))
    with ExitStack() as stack:
        theatre = Theatre(stack, programme, {"TOLLKEEPER_CUT_SECONDS": str(CUT_SECONDS)})
        say(f"{len(SDKS)} SDKs with {len(ACTS)} acts each, {AT_ONCE} at once")
        verdicts = judge(theatre.evidence(theatre.play(SDKS)))
        verdicts.append(theatre.books())
    return finish(verdicts, {"sdks": whole(SDKS, verdicts)})


if __name__ == "__main__":
    sys.exit(main())
