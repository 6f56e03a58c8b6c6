"""prove-relay: five SDKs call through the gateway as their users would, and the books agree with the upstream.

Each SDK runs in an environment of its own, over real sockets, with its default retries: plain, streamed, tool call,
image input, wrong key, unknown model, insufficient quota, the cut of long calls, a stream broken in the middle. No
refusal is sent twice, no failure looks like success, and each call upstream is charged once, exactly.
"""

from contextlib import ExitStack

from proofs.relay.acts import ACCOUNT, ACTS, CUT_SECONDS, MODEL
from proofs.rig.proof import Run, prove, say
from proofs.rig.sdks.environments import AT_ONCE, make_all
from proofs.rig.sdks.judge import judge
from proofs.rig.sdks.theatre import Programme, Theatre, finish, whole

SDKS = ("openai-3", "openai-2", "langchain-openai", "openai-node", "vercel-ai")


def main(run: Run) -> int:
    say("making an environment for each SDK")
    make_all(SDKS)
    programme = Programme(models=[MODEL], accounts=[ACCOUNT], players=dict.fromkeys(SDKS, ACTS))
    with ExitStack() as stack:
        theatre = Theatre(stack, programme, {"TOLLKEEPER_CUT_SECONDS": str(CUT_SECONDS)})
        say(f"{len(SDKS)} SDKs with {len(ACTS)} acts each, {AT_ONCE} at once")
        checks = judge(theatre.evidence(theatre.play(SDKS)))
        checks.append(theatre.books())
    run.figures["sdks"] = whole(SDKS, checks)
    return finish(run, checks)


if __name__ == "__main__":
    prove(main, "sdks", "checks", "failed")
