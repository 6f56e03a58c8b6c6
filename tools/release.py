"""`make release`: what is published of a version, in dist/: wheel, sdist, SBOM, licences, and the digests of them all.

Rules of this file
1. What is built is the last commit, not what lies about in the folder.
2. It is built twice, in two folders, under two umasks and in two time zones; both must have the same bytes.
3. The wheel has every file of src, so that nothing is missing that is only noticed by those who install it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tollkeeper import __version__
from tools.dependencies import PROJECT
from tools.licences import licences
from tools.sbom import sbom

DIST = PROJECT / "dist"
# Two machines that differ in what must not matter.
MACHINES = ({"TZ": "UTC", "LC_ALL": "C"}, {"TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8"})
UMASKS = (0o022, 0o077)


class NotReleasable(Exception):
    """What is there cannot be released; the message says why."""


def build(commit: str = "HEAD") -> Mapping[str, bytes]:
    """Wheel and sdist of a commit, by name. Raise NotReleasable where two builds differ or files are missing."""
    # Once: somebody may commit while it is built.
    commit = _git("rev-parse", commit).strip()
    moment = _git("log", "-1", "--format=%ct", commit).strip()
    first, second = (
        _built(commit, moment, environment, umask) for environment, umask in zip(MACHINES, UMASKS, strict=True)
    )
    differing = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
    if differing:
        raise NotReleasable(f"Two builds of the same commit differ: {', '.join(differing)}.")
    [wheel] = [name for name in first if name.endswith(".whl")]
    missing = missing_from(first[wheel], _git("ls-tree", "-r", "--name-only", commit, "src").split("\n"))
    if missing:
        raise NotReleasable(f"The wheel lacks {', '.join(missing)}.")
    return first


def missing_from(wheel: bytes, sources: Sequence[str]) -> list[str]:
    """Files below src that the wheel does not have."""
    with tempfile.TemporaryFile() as file:
        file.write(wheel)
        with zipfile.ZipFile(file) as opened:
            there = set(opened.namelist())
    wanted = {name.removeprefix("src/") for name in sources if name.startswith("src/")}
    return sorted(wanted - there)


def digests(files: Mapping[str, bytes]) -> bytes:
    """As sha256sum --check reads them."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()


def tells_of(log: str, version: str) -> bool:
    """Whether a changelog has a section of this version: `## 0.1.0`, and perhaps a date behind it."""
    return re.search(rf"^## {re.escape(version)}(\s|$)", log, re.MULTILINE) is not None


def check_version(commit: str = "HEAD") -> None:
    """Raise NotReleasable where the changelog does not tell what is new, or the commit has a tag of another version."""
    log = _git("show", f"{commit}:CHANGELOG.md")
    if not tells_of(log, __version__):
        raise NotReleasable(
            f"CHANGELOG.md has no section of {__version__}: what stands under Unreleased gets that name, and a date."
        )
    tags = [tag for tag in _git("tag", "--points-at", commit).split() if tag.startswith("v")]
    if tags and f"v{__version__}" not in tags:
        raise NotReleasable(f"The commit is tagged {', '.join(tags)}, but the version is {__version__}.")


def _built(commit: str, moment: str, environment: Mapping[str, str], umask: int) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="tollkeeper-release-") as folder:
        source, target = Path(folder) / "source", Path(folder) / "dist"
        source.mkdir()
        archive = subprocess.run(["git", "archive", commit], cwd=PROJECT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "--extract"], cwd=source, input=archive, umask=umask, check=True)
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(target)],
            cwd=source,
            env=dict(os.environ) | dict(environment) | {"SOURCE_DATE_EPOCH": moment},
            umask=umask,
            capture_output=True,
            check=True,
        )
        return {file.name: file.read_bytes() for file in target.iterdir()}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=True).stdout


def main() -> int:
    try:
        check_version()
        print("building twice …", flush=True)
        files = dict(build())
    except NotReleasable as problem:
        print(problem, file=sys.stderr)
        return 1
    files |= {f"tollkeeper-{__version__}.cdx.json": sbom(), "LICENCES.txt": licences().encode()}
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, content in (files | {"SHA256SUMS": digests(files)}).items():
        (DIST / name).write_bytes(content)
        print(f"dist/{name}: {len(content):,} bytes")
    print(f"version {__version__}, of {_git('rev-parse', '--short', 'HEAD').strip()}, the same bytes twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
