"""What is counted on the code itself, and how long its checks take."""

import asyncio
import subprocess
import time

from proofs.rig.checks import Check
from proofs.rig.database import connect
from proofs.rig.project import PROJECT
from proofs.rig.proof import Run, say
from tools.node import clean_environment
from tools.shape import cpu_seconds_of, doubled_names, loaded_by, longest_sql
from tools.stored_functions import FILES, mismatched

VERSION_MODULES_MOST = 200
# The least of several starts, for others may have the caches of the CPU.
VERSION_CPU_SECONDS_MOST = 0.2
STARTS = 5
SQL_LINES_MOST = 80
# On a quiet machine.
CHECKS = {"quick_s": ("quick", 60.0), "check_s": ("check", 360.0)}


def counted(run: Run, database_url: str) -> list[Check]:
    """`database_url`: of a database that was migrated, as its owner."""
    doubled, wrong = doubled_names(), asyncio.run(_mismatched(database_url))
    modules, longest = len(loaded_by("version")), longest_sql(with_reason=False)
    cpu_seconds = min(cpu_seconds_of("version") for _ in range(STARTS))
    run.figures |= {
        "version_modules": modules,
        "version_cpu_s": round(cpu_seconds, 3),
        "doubled_names": len(doubled),
        "sql_longest": longest,
        "sql_longest_with_reason": longest_sql(with_reason=True),
        "functions_match": f"{len(FILES) - len(wrong)}/{len(FILES)}",
    }
    return [
        Check("`tollkeeper version` loads little", modules <= VERSION_MODULES_MOST, f"{modules} modules"),
        Check(
            "`tollkeeper version` takes little CPU",
            cpu_seconds <= VERSION_CPU_SECONDS_MOST,
            f"{cpu_seconds:.3f} s",
            timed=True,
        ),
        Check("no two types have one name", not doubled, ", ".join(doubled)),
        Check("stored functions are short, or say why not", longest <= SQL_LINES_MOST, f"{longest} lines"),
        Check("stored functions are what their files say", not wrong, ", ".join(wrong)),
    ]


def timed_checks(run: Run) -> list[Check]:
    """How long the checks of a change take: in full size only, for they take minutes and CI has just run them."""
    checks = []
    for figure, (target, most_seconds) in CHECKS.items() if run.size == "full" else ():
        say(f"make {target}")
        begun = time.monotonic()
        done = subprocess.run(["make", target], cwd=PROJECT, env=_environment(), check=False, capture_output=True)
        seconds = time.monotonic() - begun
        run.figures[figure] = round(seconds)
        checks += [
            Check(f"`make {target}` passes", done.returncode == 0, done.stdout[-2000:].decode(errors="replace")),
            Check(f"`make {target}` takes little", seconds <= most_seconds, f"{seconds:.0f} s", timed=True),
        ]
    return checks


def _environment() -> dict[str, str]:
    """Without what a `make` that started this proof has told us."""
    return {name: value for name, value in clean_environment().items() if not name.startswith("MAKE")}


async def _mismatched(database_url: str) -> list[str]:
    connection = await connect(database_url)
    try:
        return await mismatched(connection)
    finally:
        await connection.close()
