"""prove-relay: five SDKs call through the gateway as their users would, and the books agree with the upstream.

Each SDK runs in an environment of its own, over real sockets, with its default retries: plain, streamed, tool call,
image input, wrong key, unknown model, insufficient quota, the cut of long calls, a stream broken in the middle. No
refusal is sent twice, no failure looks like success, and each call upstream is charged once, exactly.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec

from tools.node import Node, fresh_secrets, tollkeeper
from tools.proofs import conclude, say, size
from tools.proofs.ledger_rig.ground import connect
from tools.proofs.sdks.acts import ACTS, CUT_SECONDS
from tools.proofs.sdks.casting import PROVIDER_KEY, Part, furnish
from tools.proofs.sdks.environments import AT_ONCE, PROJECT, SDKS, Environment, command, make_all
from tools.proofs.sdks.judge import Call, Evidence, Receipt, Said, Truth, Verdict, judge
from tools.services import Postgres, Redis
from tools.services.process import wait_until
from tools.simulator import Simulator

SDK_SECONDS_MOST = 60
SETTLED_WITHIN_SECONDS = 15

RECEIPTS = "select request_id::text, key_id, input_tokens, output_tokens, charged from usage"


def main() -> int:
    size()
    say("making an environment for each SDK")
    make_all()
    with ExitStack() as stack:
        settings = fresh_secrets() | {
            "TOLLKEEPER_DATABASE_URL": stack.enter_context(Postgres()).url,
            "TOLLKEEPER_REDIS_URL": stack.enter_context(Redis()).url,
            "TOLLKEEPER_JOURNAL_FOLDER": stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-")),
            "TOLLKEEPER_CUT_SECONDS": str(CUT_SECONDS),
        }
        simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        parts = furnish(settings, simulator.base, [sdk.name for sdk in SDKS])
        node = stack.enter_context(Node(settings))

        say(f"{len(SDKS)} SDKs with {len(ACTS)} acts each, {AT_ONCE} at once")
        with ThreadPoolExecutor(AT_ONCE) as hands:
            said = dict(hands.map(lambda sdk: (sdk.name, performed(sdk, node, parts)), SDKS))
        wait_until_settled(settings)
        # Its log is whole once it has ended.
        node.stop()
        verdicts = judge(
            Evidence(
                said=said,
                parts=parts,
                calls=msgspec.convert(node.call_lines(), list[Call]),
                truths=msgspec.convert(simulator.truth(), list[Truth]),
                receipts=receipts(settings),
            )
        )
        books = tollkeeper(settings, "books", "check")
        verdicts.append(Verdict("the books are clean", books.returncode == 0, books.stdout + books.stderr))

    failed = [verdict for verdict in verdicts if not verdict.holds]
    for verdict in failed:
        say(f"FAILED {verdict.name}: {verdict.detail}")
    whole = sum(sum(line.ok for line in lines) == len(ACTS) for lines in said.values())
    conclude({"sdks": f"{whole}/{len(SDKS)}", "checks": len(verdicts), "failed": len(failed)})
    return 1 if failed else 0


def performed(sdk: Environment, node: Node, parts: Sequence[Part]) -> list[Said]:
    """Let one SDK play its acts, knowing nothing of this machine's settings and proxies; what it said."""
    keys = {part.act: part.key for part in parts if part.sdk == sdk.name}
    acts = {name: act.for_the_stage(f"{node.base}/v1", act.wrong_key or keys[name]) for name, act in ACTS.items()}
    played = subprocess.run(
        [*command(sdk), json.dumps(acts)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=SDK_SECONDS_MOST,
        check=False,
    )
    if played.stderr:
        say(f"{sdk.name} complains: {played.stderr[-2000:]}")
    said = [msgspec.json.decode(line, type=Said) for line in played.stdout.splitlines()]
    say(f"{sdk.name}: {sum(line.ok for line in said)} of {len(ACTS)} acts went well")
    return said


def wait_until_settled(settings: Mapping[str, str]) -> None:
    """A call that was cut goes on upstream, and is settled when it ends there. Too few receipts are judged later."""
    expected = len(SDKS) * sum(act.reaches_upstream for act in ACTS.values())
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: len(receipts(settings)) >= expected, within_seconds=SETTLED_WITHIN_SECONDS)


def receipts(settings: Mapping[str, str]) -> list[Receipt]:
    async def read() -> list[Receipt]:
        connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
        try:
            return [Receipt(*row) for row in await connection.fetch(RECEIPTS)]
        finally:
            await connection.close()

    return asyncio.run(read())


if __name__ == "__main__":
    sys.exit(main())
