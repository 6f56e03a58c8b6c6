"""The image: built from deploy/Containerfile and started, where the machine can.

IMAGE_BASE names a tar file with a Debian that has Python (docs/guides/deploy.md says how to make one): no registry is
asked. Where that, podman or root is missing, nothing is built, and the files alone are validated: the Containerfile,
the compose file, the units, and the manifests by Kubernetes' schema.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from proofs.rig.answer import Answer, Tail
from proofs.rig.chat import Order, call
from proofs.rig.checks import Check
from proofs.rig.patience import came_true
from proofs.rig.proof import Run, say
from proofs.run.house import MAIN, House
from tollkeeper import __version__
from tools.dependencies import PROJECT
from tools.image import NAME, fill, make
from tools.node import Node
from tools.services.process import free_port

BASE = "localhost/tollkeeper-base"
# So that it also runs within another container: no service manager, no network of its own, and no more descriptors than
# there are. Where overlays do not work either, STORAGE_DRIVER=vfs is slow and does.
CONFIGURATION = """
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
netns = "host"
"""
# What the files say, without starting anything of ours.
VALIDATING = ("confinement", "compose", "units", "names", "cluster", "times")
# No writable folder but the volumes: podman would add /tmp and others by itself.
READ_ONLY = ("--read-only", "--read-only-tmpfs=false")
WORDS = 20
# What Tollkeeper and its packages may add to a base; they are mostly libraries in machine code, FFmpeg's the largest.
MOST_ADDED_BYTES = 450_000_000
# Who one is, and in which folders one can write.
WHERE = """
import os
def writable(folder):
    try:
        open(folder + "/x", "w").close()
    except OSError:
        return False
    return True
folders = ("/opt/tollkeeper", "/etc", "/tmp", "/var/tmp", "/run", "/var/lib", "/var/lib/tollkeeper")
print(os.getuid(), *filter(writable, folders))
"""
HEALTHY = "import urllib.request as u; u.urlopen('http://127.0.0.1:{}/livez', timeout=4)"


class Podman:
    """Podman with a storage of its own."""

    def __init__(self, folder: Path) -> None:
        (folder / "containers.conf").write_text(CONFIGURATION)
        self.environment = dict(os.environ) | {"CONTAINERS_CONF": str(folder / "containers.conf")}
        places = ["--root", str(folder / "storage"), "--runroot", str(folder / "run"), "--tmpdir", str(folder / "tmp")]
        self.program = ["podman", *places]

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.program, *arguments], env=self.environment, capture_output=True, text=True, check=False
        )

    def building(self) -> Sequence[str]:
        settings = f"CONTAINERS_CONF={self.environment['CONTAINERS_CONF']}"
        options = ["--layers=false", "--isolation=chroot", "--format=docker", "--quiet"]
        return ["env", settings, *self.program, "build", *options]


def built(run: Run, house: House) -> list[Check]:
    base = os.environ.get("IMAGE_BASE", "")
    if (missing := _missing(base)) is not None:
        say(f"no image is built: {missing}")
        return _validated(run)
    with _folder() as folder:
        podman = Podman(folder)
        imported = podman.ask("import", base, BASE)
        if imported.returncode:
            return [Check("the base can be imported", holds=False, detail=imported.stderr)]
        fill(folder / "context")
        make(podman.building(), folder / "context", base=BASE)
        checks = [*_alone(podman), *_serving(podman, house)]
    run.figures["image"] = "built"
    return checks


def _missing(base: str) -> str | None:
    """The first thing without which no image can be built here."""
    if shutil.which("podman") is None:
        return "there is no podman"
    if os.geteuid():
        return "only root can build one here"
    if not base:
        return "IMAGE_BASE names no base"
    return None if Path(base).is_file() else f"IMAGE_BASE names {base}, which is no file"


def _validated(run: Run) -> list[Check]:
    """The files that are shipped, each by its schema or program. Notes `image` in the run."""
    files = [f"tests/deploy/test_{name}.py" for name in VALIDATING]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    run.figures["image"] = "validated" if done.returncode == 0 else "invalid"
    say(f"the files of deploy/: {done.stdout.strip().rpartition(chr(10))[2]}")
    return [
        Check("Containerfile, compose file, units and manifests are valid", done.returncode == 0, done.stdout[-2000:])
    ]


def _alone(podman: Podman) -> list[Check]:
    """What the image says about itself, and how large it is."""
    version = podman.ask("run", "--rm", *READ_ONLY, NAME, "version")
    where = podman.ask("run", "--rm", *READ_ONLY, "--entrypoint", "python", NAME, "-c", WHERE)
    whole, base = (_size_bytes(podman, name) for name in (NAME, BASE))
    say(f"the image has {whole / 1e6:.0f} MB, of which its base {base / 1e6:.0f} MB")
    return [
        Check("the image knows its version", version.stdout.strip() == __version__, version.stdout + version.stderr),
        Check(
            "it is not root and writes its journal alone",
            where.stdout == "10001 /var/lib/tollkeeper\n",
            where.stdout + where.stderr,
        ),
        Check("it has nothing but what it needs", whole - base < MOST_ADDED_BYTES, f"{whole - base:,} bytes"),
    ]


def _size_bytes(podman: Podman, image: str) -> int:
    return int(podman.ask("image", "inspect", "--format", "{{.Size}}", image).stdout)


def _serving(podman: Podman, house: House) -> list[Check]:
    """A node in a container, read-only but for its journal, from start to stop."""
    node = Node({**house.settings, "TOLLKEEPER_PORT": str(free_port()), "TOLLKEEPER_NODE_NAME": "contained"})
    own = {name: value for name, value in node.settings.items() if name != "TOLLKEEPER_JOURNAL_FOLDER"}
    given = [f"--env={name}={value}" for name, value in own.items()]
    started = podman.ask("run", "--detach", *READ_ONLY, "--cap-drop=ALL", "--name=node", *given, NAME)
    try:
        ready = came_true(lambda: node.status("/readyz") == 200, within_seconds=60)
        healthy = podman.ask("exec", "node", "python", "-c", HEALTHY.format(node.port))
        answer = _asked(node, house)
        podman.ask("kill", "--signal=TERM", "node")
        ended = podman.ask("wait", "node").stdout.strip()
    finally:
        said = podman.ask("logs", "node").stderr
        podman.ask("rm", "--force", "--volumes", "node")
        node.log.unlink()
    return [
        Check("a node in a container is ready", ready, started.stderr + said[-2000:]),
        Check("its health check is answered", healthy.returncode == 0, healthy.stderr),
        Check("a call through it is answered", (answer.words, answer.tail) == (WORDS, Tail.DONE), str(answer)),
        Check("it ends by itself", ended == "0", ended + said[-2000:]),
    ]


def _asked(node: Node, house: House) -> Answer:
    """What a customer hears of one stream."""
    order = Order(customer=house.customers[0], text=f"[[tokens={WORDS}]]", stream=True, host=MAIN)
    return asyncio.run(call(node.port, order)).answer


@contextmanager
def _folder() -> Iterator[Path]:
    """Its files belong to several users, and some are read-only: root removes them."""
    folder = Path(tempfile.mkdtemp(prefix="tollkeeper-image-"))
    try:
        yield folder
    finally:
        # Podman mounts the folder of its overlays upon itself, and leaves it so.
        subprocess.run(["umount", "--recursive", str(folder / "storage" / "overlay")], capture_output=True, check=False)
        shutil.rmtree(folder)
