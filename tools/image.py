"""`make image`: the container image of every command, from deploy/Containerfile.

The context (dist/image) has the wheels of the lock, checked against its hashes, and our own. So building needs no
network beside what the base image needs, and the image has what was tested.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.dependencies import PROJECT
from tools.licences import licences
from tools.release import NotReleasable, build

CONTEXT = PROJECT / "dist" / "image"
CONTAINERFILE = PROJECT / "deploy" / "Containerfile"
REQUIREMENTS = PROJECT / "requirements"
# What an image may have beyond the usual, each with a lock of its own.
EXTRAS = ("otel",)
# The base may have another Python 3.11 than this machine: what some of them need goes along.
OF_SOME_PYTHONS = re.compile(r" ; python_full_version < '[0-9.]+'")
NAME = "localhost/tollkeeper"
# In this order. OCI's own format has no health checks and would drop ours; docker knows no other than its own.
BUILDERS = (("podman", "build", "--format=docker"), ("buildah", "build", "--format=docker"), ("docker", "build"))


def fill(context: Path, extra: str | None = None) -> None:
    """Everything that the image is made of."""
    shutil.rmtree(context, ignore_errors=True)
    wheels = context / "wheels"
    wheels.mkdir(parents=True)
    for name, content in build().items():
        if name.endswith(".whl"):
            (wheels / name).write_bytes(content)
    (context / "licences").mkdir()
    (context / "licences" / "LICENCES.txt").write_text(licences(extra))
    shutil.copy(CONTAINERFILE, context / "Containerfile")
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    for lock in locks(extra):
        (context / lock.name).write_text(OF_SOME_PYTHONS.sub("", lock.read_text()))
        chosen = ["--require-hashes", "--requirement", str(context / lock.name)]
        subprocess.run([*fetch, *chosen, "--dest", str(wheels)], check=True)


def locks(extra: str | None) -> list[Path]:
    """Those whose wheels go in: an extra's has only what it adds."""
    return [REQUIREMENTS / f"{name}.txt" for name in ("runtime", extra) if name is not None]


def builder() -> Sequence[str] | None:
    """The command of whichever program is there."""
    return next((command for command in BUILDERS if shutil.which(command[0])), None)


def make(command: Sequence[str], context: Path, *, base: str | None = None, extra: str | None = None) -> None:
    """`command`: podman build and its options. `base`: another image than the usual one, with Python."""
    chosen = ["--build-arg", f"BASE={base}"] if base else []
    chosen += ["--build-arg", f"EXTRAS=[{extra}]"] if extra else []
    file = str(context / "Containerfile")
    subprocess.run([*command, *chosen, "--tag", NAME, "--file", file, str(context)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", metavar="IMAGE", help="another base than the one in deploy/Containerfile")
    parser.add_argument("--extra", choices=EXTRAS, help="what goes in beyond the usual: otel, for traces")
    asked = parser.parse_args()
    command = builder()
    if command is None:
        print("Please install podman, buildah or docker.", file=sys.stderr)
        return 1
    try:
        fill(CONTEXT, asked.extra)
    except NotReleasable as problem:
        print(problem, file=sys.stderr)
        return 1
    make(command, CONTEXT, base=asked.base, extra=asked.extra)
    print(NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main())
