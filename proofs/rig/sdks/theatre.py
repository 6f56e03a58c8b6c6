"""The theatre: a gateway with stores of its own and a simulator upstream, where SDKs play and all is recorded."""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec

from proofs.rig.checks import Check, failed
from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.database import connect
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.patience import came_true, patience
from proofs.rig.project import PROJECT
from proofs.rig.proof import Run, say
from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.casting import cast
from proofs.rig.sdks.catalog import Model, ProviderAccount, furnish
from proofs.rig.sdks.environments import AT_ONCE, SDKS, command
from proofs.rig.sdks.judge import Call, Evidence, Receipt, Said, Truth
from tools.node import Node
from tools.simulator import Simulator

SDK_SECONDS_MOST = 90
SETTLED_WITHIN_SECONDS = 15

RECEIPTS = "select request_id::text, key_id, input_units, output_units, cached_units, charged from usage"


class Programme(msgspec.Struct, frozen=True, kw_only=True):
    """What is sold, who serves it, and which acts each player has."""

    models: Sequence[Model]
    accounts: Sequence[ProviderAccount]
    players: Mapping[str, Mapping[str, Act]]


class Theatre:
    """Open as long as the stack is."""

    def __init__(self, stack: ExitStack, programme: Programme, settings: Mapping[str, str] | None = None) -> None:
        self.settings = deployment(stack) | dict(settings or {})
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

    def books(self) -> Check:
        return Check("the books are clean", books_are_clean(self.settings))

    def _performed(self, sdk: str) -> list[Said]:
        """One SDK's parts, played by a process that knows nothing of this machine's settings and proxies."""
        parts = [part for part in self.parts if part.player == sdk]
        acts = {part.name: part.act.for_the_stage(part.name, self.base, part.key) for part in parts}
        played = subprocess.run(
            [*command(SDKS[sdk]), json.dumps(acts)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=patience(SDK_SECONDS_MOST),
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
        came_true(lambda: len(self._receipts()) >= expected, within_seconds=SETTLED_WITHIN_SECONDS)

    def _receipts(self) -> list[Receipt]:
        return receipts(self.settings["TOLLKEEPER_DATABASE_URL"])


def receipts(database_url: str) -> list[Receipt]:
    """Of every call so far."""

    async def read() -> list[Receipt]:
        connection = await connect(database_url)
        try:
            return [Receipt(*row) for row in await connection.fetch(RECEIPTS)]
        finally:
            await connection.close()

    return asyncio.run(read())


def whole(names: Sequence[str], checks: Sequence[Check]) -> str:
    """Of how many of these everything that was judged held: `5/5`."""
    missed = {word for check in checks if not check.holds for word in check.name.split(": ")}
    return f"{len(set(names) - missed)}/{len(names)}"


def finish(run: Run, checks: Sequence[Check]) -> int:
    """Print what failed; 0 if everything held."""
    wrong = failed(checks)
    run.figures |= {"checks": len(checks), "failed": len(wrong)}
    return 1 if wrong else 0
