"""prove-house: two nodes, a million accounts, keys that are found fast and refused in time, and a house in order.

Shows: the official SDK lists models through both nodes; a revoked key is refused by both within two seconds; with
every account and key loaded, a cold key is found with p99 ≤ 5 ms and a node stays under 300 MB; the books are clean.
Of the code: `tollkeeper version` loads little and takes little CPU, no two types have one name, stored functions are
short and are what their files say; in full size, how long `make quick` and `make check` take.
"""

import asyncio
import statistics
from collections.abc import Mapping
from contextlib import ExitStack

from proofs.house.code import counted, timed_checks
from proofs.house.keys import fill, lists_models, look_up_cold, seconds_until_refused
from proofs.rig.checks import Check, failed
from proofs.rig.deployment import books_are_clean, deployment, journal_folder
from proofs.rig.proof import Run, prove, say
from tollkeeper.edge.routes import ROUTES
from tools.accounts import without_limits
from tools.node import Node, command
from tools.services import Postgres

ACCOUNTS = 1_000_000
# Where nobody judges how long a lookup takes.
ACCOUNTS_IN_CI = 100_000
COLD_LOOKUPS = {"small": 10_000, "full": 100_000}
REVOKE_SECONDS_MOST = 2.0
LOOKUP_P99_MS_MOST = 5.0
NODE_MB_MOST = 300
NODES = ("one", "two")
LAST_LINE = (
    *("routes", "sdk_models", "revoke_seconds", "lookup_p99_ms", "node_mb", "books"),
    *("quick_s", "check_s", "version_modules", "version_cpu_s", "doubled_names", "sql_longest"),
    *("sql_longest_with_reason", "functions_match"),
)


def main(run: Run) -> int:
    run.figures["routes"] = len(ROUTES)
    with ExitStack() as stack:
        settings = deployment(stack, postgres=Postgres(durable=True))
        command(settings, "migrate")
        checks = counted(run, settings["TOLLKEEPER_DATABASE_URL"])
        checks += among_many(stack, settings, run)
    checks += timed_checks(run)
    return 1 if failed(checks, timed=run.judges_timings) else 0


def among_many(stack: ExitStack, settings: Mapping[str, str], run: Run) -> list[Check]:
    accounts, lookups = ACCOUNTS if run.judges_timings else ACCOUNTS_IN_CI, COLD_LOOKUPS[run.size]
    asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
    command(dict(settings), "model", "add", "gpt-4o", "--multiplier", "1.25", "--completion", "4")
    say(f"loading {accounts:,} accounts with a lot and a key each")
    keys = asyncio.run(fill(settings, accounts, lookups))
    own = [{"TOLLKEEPER_NODE_NAME": name, "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack)} for name in NODES]
    nodes = [stack.enter_context(Node(dict(settings) | each)) for each in own]

    lists = all(lists_models(node, keys[-1]) for node in nodes)
    run.figures["sdk_models"] = "ok" if lists else "failed"
    say(f"looking up {lookups:,} cold keys")
    waits_ms = sorted(asyncio.run(look_up_cold(nodes[0], keys[:lookups])))
    p50, p99 = waits_ms[len(waits_ms) // 2], waits_ms[int(len(waits_ms) * 0.99)]
    run.figures["lookup_p99_ms"] = round(p99, 2)
    say(f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, mean {statistics.mean(waits_ms):.2f} ms")
    revoke_seconds = seconds_until_refused(settings, nodes, keys[-1])
    run.figures["revoke_seconds"] = round(revoke_seconds, 3)
    node_mb = max(node.memory_bytes() for node in nodes) / 1e6
    run.figures["node_mb"] = round(node_mb)
    books_clean = books_are_clean(settings)
    run.figures["books"] = "clean" if books_clean else "broken"
    in_time = revoke_seconds <= REVOKE_SECONDS_MOST
    return [
        Check("the SDK lists the models through both nodes", lists),
        Check("a cold key is found fast", p99 <= LOOKUP_P99_MS_MOST, f"p99 {p99:.2f} ms", timed=True),
        Check("a revoked key is refused soon", in_time, f"{revoke_seconds} s", timed=True),
        Check("a node stays small", node_mb < NODE_MB_MOST, f"{node_mb:.0f} MB"),
        Check("the books are clean", books_clean),
    ]


if __name__ == "__main__":
    prove(main, *LAST_LINE)
