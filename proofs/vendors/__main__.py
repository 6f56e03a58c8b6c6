"""prove-vendors: eight SDKs call four vendors' models in the protocols that they speak, and the books agree with the
upstream.

Each SDK runs in an environment of its own. In chat it calls a model of openai, azure, anthropic and gemini: plain,
streamed, with a tool and its result, with an image, and rejected by the vendor. The vendors' own packages do so in
Messages and Responses, too, whole and streamed, also with thoughts and with input that is cached, written or long, and
ask for embeddings. By hand then, in chat: cached and written input, thoughts, tool calls, images, sounds, searches and
long input. Each call goes to its vendor once, and is charged to the unit.
"""

from contextlib import ExitStack

from proofs.rig.proof import Run, prove, say
from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.environments import AT_ONCE, SDKS, make_all
from proofs.rig.sdks.judge import judge
from proofs.rig.sdks.theatre import Programme, Theatre, finish, whole
from proofs.vendors import by_hand
from proofs.vendors.acts import ACTS, VENDORS
from proofs.vendors.figures import judge_figures
from proofs.vendors.protocols import EMBEDDING_MODELS, EMBEDDINGS, MESSAGES, RESPONSES

SIZES = {"small": ("openai-3", "vercel-ai", "anthropic-2"), "full": tuple(SDKS)}
OF_OPENAI = {**ACTS, **RESPONSES.acts, **EMBEDDINGS.acts}
OWN_ACTS = {"openai-3": OF_OPENAI, "openai-2": OF_OPENAI, "anthropic-2": MESSAGES.acts}
EXPECTED = {**by_hand.EXPECTED, **MESSAGES.expected, **RESPONSES.expected, **EMBEDDINGS.expected}


def acts_of(sdk: str) -> dict[str, Act]:
    return OWN_ACTS.get(sdk, ACTS)


def main(run: Run) -> int:
    sdks = SIZES[run.size]
    say("making an environment for each SDK")
    make_all(sdks)
    programme = Programme(
        models=[*(vendor.model for vendor in VENDORS.values()), *EMBEDDING_MODELS.values()],
        accounts=[vendor.account for vendor in VENDORS.values()],
        players={**{sdk: acts_of(sdk) for sdk in sdks}, by_hand.PLAYER: by_hand.ACTS},
    )
    with ExitStack() as stack:
        theatre = Theatre(stack, programme)
        say(f"{len(sdks)} SDKs with {sum(len(acts_of(sdk)) for sdk in sdks)} acts, {AT_ONCE} at once")
        said = theatre.play(sdks)
        say(f"{len(by_hand.ACTS)} calls by hand")
        said[by_hand.PLAYER] = by_hand.play(theatre.base, theatre.parts)
        evidence = theatre.evidence(said)
        checks = [*judge(evidence), *judge_figures(evidence, EXPECTED), theatre.books()]
    run.figures |= {"sdks": whole(sdks, checks), "vendors": whole(tuple(VENDORS), checks)}
    return finish(run, checks)


if __name__ == "__main__":
    prove(main, "sdks", "vendors", "checks", "failed")
