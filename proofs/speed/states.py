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
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.deployment import journal_folder, started
from proofs.rig.measuring.cores import Cores
from proofs.rig.measuring.measured_orders import MODEL
from proofs.rig.measuring.processes import listeners, require_alone
from proofs.rig.patience import patience
from proofs.rig.project import PROJECT
from proofs.rig.proof import say
from proofs.speed import furnishing
from proofs.speed.contestants import CONNECTIONS, Subject, only_listener, subject_of
from tools.node import Node, clean_environment
from tools.services import Postgres, Redis

PRESENT = PROJECT
FURNISHED_WITHIN_SECONDS = 300
# Where the names of a process lie in its tables is chance, and moves its speed by some percent as long as it lives.
SAME_CHANCE = {"PYTHONHASHSEED": "0"}


class Party(msgspec.Struct, frozen=True):
    """One that takes turns: what is measured, the keys that it knows, and the process ids of its own stores."""

    subject: Subject
    keys: list[str]
    beside: dict[str, int]


class Standing(Party, frozen=True):
    """A gateway among them, which can be stopped and has books."""

    node: Node


class Furnished(msgspec.Struct, frozen=True):
    settings: dict[str, str]
    keys: list[str]


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


def stand(stack: ExitStack, cores: Cores, name: str, root: Path, upstream: str) -> Standing:
    """Start what a state needs and then its node, one worker on the measured core."""
    postgres, redis = started(stack, Postgres(durable=True)), started(stack, Redis())
    wanted = {
        "TOLLKEEPER_DATABASE_URL": postgres.url,
        "TOLLKEEPER_REDIS_URL": redis.url,
        "TOLLKEEPER_JOURNAL_FOLDER": journal_folder(stack),
        "TOLLKEEPER_WORKERS": "1",
    }
    furnished = furnish(root, wanted, upstream)
    with cores.start_measured():
        node = started(stack, _node_of(root, furnished.settings | own_path(root / "src") | SAME_CHANCE))
    subject = subject_of(name, node)
    require_alone(subject.port, subject.pid)
    cores.require_measured(subject.pid)
    for pid in listeners(subject.port):
        say(f"{name}: worker {pid} runs {required_code(pid, root)}")
    beside = {"postgres": only_listener(postgres.port), "redis": only_listener(redis.port)}
    return Standing(subject, furnished.keys, beside, node)


def _node_of(root: Path, settings: dict[str, str]) -> Node:
    """A node without what we set for every node and the state does not know yet: it would refuse to start."""
    node = Node(settings)
    known = "".join(file.read_text() for file in (root / "src/tollkeeper/settings").glob("*.py"))
    for name in node.settings.keys() - settings.keys():
        if name.removeprefix("TOLLKEEPER_").lower() not in known:
            del node.settings[name]
    return node


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
        timeout=patience(FURNISHED_WITHIN_SECONDS),
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
