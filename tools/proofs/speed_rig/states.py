"""States of the project that are compared: each stands with its own code, settings, schema, stores and node.

Both run on this environment's interpreter and dependencies. The state's own source comes first on the path, before
the one that is installed for editing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from tools.node import Node, clean_environment
from tools.proofs import say
from tools.proofs.sdks.casting import PROVIDER_KEY
from tools.proofs.speed_rig import furnishing
from tools.proofs.speed_rig.cores import Cores
from tools.proofs.speed_rig.orders import MODEL
from tools.proofs.speed_rig.processes import listeners, require_alone
from tools.proofs.speed_rig.stage import CONNECTIONS, Subject, only_listener, subject_of
from tools.services import Postgres, Redis

PRESENT = Path(__file__).parents[3]
FURNISHED_WITHIN_SECONDS = 300
# Where the names of a process lie in its tables is chance, and moves its speed by some percent as long as it lives.
SAME_CHANCE = {"PYTHONHASHSEED": "0"}


class Party(msgspec.Struct, frozen=True):
    """One that takes turns: what is measured, the keys that it knows, and the process ids of its own stores."""

    subject: Subject
    keys: list[str]
    beside: dict[str, int]


class Furnished(msgspec.Struct, frozen=True):
    settings: dict[str, str]
    keys: list[str]


class Startable(AbstractContextManager[object], Protocol):
    def start(self) -> None: ...


S = TypeVar("S", bound=Startable)


def commit_of(revision: str) -> str | None:
    """The commit that a revision names; None where it names none."""
    asked = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    return subprocess.run(asked, cwd=PRESENT, capture_output=True, text=True, check=False).stdout.strip() or None


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The files of a commit in a folder of their own. The repository does not know of them."""
    with tempfile.TemporaryDirectory(prefix="tollkeeper-before-") as folder:
        packed, root = Path(folder) / "state.tar", Path(folder) / "state"
        subprocess.run(["git", "archive", f"--output={packed}", commit], cwd=PRESENT, check=True)
        shutil.unpack_archive(packed, root, filter="data")
        yield root


def stand(stack: ExitStack, cores: Cores, name: str, root: Path, upstream: str) -> Party:
    """Start what a state needs and then its node, one worker on the measured core."""
    postgres, redis = started(stack, Postgres(durable=True)), started(stack, Redis())
    wanted = {
        "TOLLKEEPER_DATABASE_URL": postgres.url,
        "TOLLKEEPER_REDIS_URL": redis.url,
        "TOLLKEEPER_JOURNAL_FOLDER": stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-")),
        "TOLLKEEPER_WORKERS": "1",
    }
    furnished = furnish(root, wanted, upstream)
    with cores.start_measured():
        node = started(stack, Node(furnished.settings | own_path(root / "src") | SAME_CHANCE))
    subject = subject_of(name, node)
    require_alone(subject.port, subject.pid)
    cores.require_measured(subject.pid)
    for pid in listeners(subject.port):
        say(f"{name}: worker {pid} runs {required_code(pid, root)}")
    return Party(
        subject, furnished.keys, {"postgres": only_listener(postgres.port), "redis": only_listener(redis.port)}
    )


def started(stack: ExitStack, server: S) -> S:
    """Stopped at the end, also where it is interrupted while it starts."""
    stack.push(server)
    server.start()
    return server


def furnish(root: Path, settings: dict[str, str], upstream: str) -> Furnished:
    asked = {
        "settings": settings,
        "model": MODEL,
        "upstream": upstream,
        "provider_key": PROVIDER_KEY,
        "customers": CONNECTIONS,
    }
    done = subprocess.run(
        # -P: the folder of the file, which is ours, is not on the path.
        [sys.executable, "-P", furnishing.__file__],
        cwd=root,
        env=clean_environment() | own_path(root / "src", root),
        input=msgspec.json.encode(asked),
        stdout=subprocess.PIPE,
        timeout=FURNISHED_WITHIN_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"The state in {root} could not be furnished by its own commands.")
    return msgspec.json.decode(done.stdout, type=Furnished)


def own_path(*folders: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))}


def required_code(pid: int, root: Path) -> str:
    """Make sure that a running worker's code is its state's: import it as that process does, by its environment."""
    process = Path(f"/proc/{pid}")
    variables = (line.partition("=") for line in (process / "environ").read_text().split("\0") if line)
    done = subprocess.run(
        [sys.executable, "-c", "import tollkeeper; print(tollkeeper.__file__)"],
        cwd=(process / "cwd").readlink(),
        env={name: value for name, _, value in variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found = done.stdout.strip()
    assert Path(found).is_relative_to(root / "src"), f"process {pid} runs {found}, not the code in {root}"
    return found
