"""The theatre: a gateway with stores of its own and a simulator upstream, where SDKs play and all is recorded."""

import asyncio
import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec

from tools.node import Node, own_deployment, tollkeeper
from tools.proofs import conclude, say
from tools.proofs.ledger_rig.ground import connect
from tools.proofs.sdks.acts import Act
from tools.proofs.sdks.casting import PROVIDER_KEY, cast
from tools.proofs.sdks.catalog import Model, ProviderAccount, furnish
from tools.proofs.sdks.environments import AT_ONCE, PROJECT, SDKS, command
from tools.proofs.sdks.judge import Call, Evidence, Receipt, Said, Truth, Verdict
from tools.services import Postgres, Redis
from tools.services.process import wait_until
from tools.simulator import Simulator

SDK_SECONDS_MOST = 90
SETTLED_WITHIN_SECONDS = 15

RECEIPTS = "select request_id::text, key_id, input_tokens, output_tokens, cached_tokens, charged from usage"


class Programme(msgspec.Struct, frozen=True, kw_only=True):
    """What is sold, who serves it, and which acts each player has."""

    models: Sequence[Model]
    accounts: Sequence[ProviderAccount]
    players: Mapping[str, Mapping[str, Act]]


class Theatre:
    """Open as long as the stack is."""

    def __init__(self, stack: ExitStack, programme: Programme, settings: Mapping[str, str] | None = None) -> None:
        self.settings = own_deployment() | {
            "TOLLKEEPER_DATABASE_URL": stack.enter_context(Postgres()).url,
            "TOLLKEEPER_REDIS_URL": stack.enter_context(Redis()).url,
            "TOLLKEEPER_JOURNAL_FOLDER": stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-")),
        }
        self.settings |= settings or {}
        self.simulator = stack.enter_context(Simulator(key=PROVIDER_KEY))
        self.programme = programme
        furnish(self.settings, self.simulator.base.removesuffix("/v1"), programme.models, programme.accounts)
        self.parts = cast(self.settings, programme.players)
        self.node = stack.enter_context(Node(self.settings))

    @property
    def base(self) -> str:
        """What callers are told."""
        return f"{self.node.base}/v1"

    def play(self, sdks: Sequence[str]) -> dict[str, list[Said]]:
        """Let these SDKs play their parts, some at once; what they said."""
        with ThreadPoolExecutor(AT_ONCE) as hands:
            return dict(zip(sdks, hands.map(self._performed, sdks), strict=True))

    def evidence(self, said: Mapping[str, Sequence[Said]]) -> Evidence:
        """Everything that was recorded. Nothing can be played afterwards."""
        self._wait_until_settled()
        # Its log is whole once it has ended.
        self.node.stop()
        return Evidence(
            said=said,
            parts=self.parts,
            models={model.id: model for model in self.programme.models},
            accounts=self.programme.accounts,
            calls=msgspec.convert(self.node.call_lines(), list[Call]),
            truths=msgspec.convert(self.simulator.truth(), list[Truth]),
            receipts=self._receipts(),
        )

    def books(self) -> Verdict:
        checked = tollkeeper(self.settings, "books", "check")
        return Verdict("the books are clean", checked.returncode == 0, checked.stdout + checked.stderr)

    def _performed(self, sdk: str) -> list[Said]:
        """One SDK's parts, played by a process that knows nothing of this machine's settings and proxies."""
        parts = [part for part in self.parts if part.player == sdk]
        acts = {part.name: part.act.for_the_stage(part.name, self.base, part.key) for part in parts}
        played = subprocess.run(
            [*command(SDKS[sdk]), json.dumps(acts)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=SDK_SECONDS_MOST,
            check=False,
        )
        if played.stderr:
            say(f"{sdk} complains: {played.stderr[-2000:]}")
        said = [msgspec.json.decode(line, type=Said) for line in played.stdout.splitlines()]
        say(f"{sdk}: {sum(line.ok for line in said)} of {len(acts)} acts went well")
        return said

    def _wait_until_settled(self) -> None:
        """A call that was cut goes on upstream, and is settled when it ends there. Too few are judged later."""
        expected = sum(part.act.upstream_calls for part in self.parts)
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: len(self._receipts()) >= expected, within_seconds=SETTLED_WITHIN_SECONDS)

    def _receipts(self) -> list[Receipt]:
        async def read() -> list[Receipt]:
            connection = await connect(self.settings["TOLLKEEPER_DATABASE_URL"])
            try:
                return [Receipt(*row) for row in await connection.fetch(RECEIPTS)]
            finally:
                await connection.close()

        return asyncio.run(read())


def whole(names: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    """Of how many of these everything that was judged held: `5/5`."""
    failed = {word for verdict in verdicts if not verdict.holds for word in verdict.name.split(": ")}
    return f"{len(set(names) - failed)}/{len(names)}"


def finish(verdicts: Sequence[Verdict], figures: Mapping[str, object]) -> int:
    """Print what failed, and the last line; 0 if everything held."""
    failed = [verdict for verdict in verdicts if not verdict.holds]
    for verdict in failed:
        say(f"FAILED {verdict.name}: {verdict.detail}")
    conclude({**figures, "checks": len(verdicts), "failed": len(failed)})
    return 1 if failed else 0
