"""A release: the same bytes from two builds, everything inside, and the licences of what comes along."""

import io
import tarfile
from importlib.metadata import distribution

import pytest

from tools.dependencies import locked, table
from tools.licences import licences
from tools.release import MACHINES, UMASKS, build, digests, missing_from, tells_of

pytestmark = pytest.mark.not_quick


def test_two_builds_have_the_same_bytes_and_every_file() -> None:
    assert MACHINES[0] != MACHINES[1]
    assert UMASKS[0] != UMASKS[1]
    files = build()
    assert sorted(name.rpartition(".")[2] for name in files) == ["gz", "whl"]
    assert len(digests(files).splitlines()) == 2
    [sdist] = [content for name, content in files.items() if name.endswith(".gz")]
    with tarfile.open(fileobj=io.BytesIO(sdist)) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    # Another's, under the MPL, and of use to a proof alone.
    assert not {name for name in inside if "axe.min.js" in name}
    assert "LICENSE" in inside
    [wheel] = [content for name, content in files.items() if name.endswith(".whl")]
    assert missing_from(wheel, ["src/tollkeeper/none.sql", "src/tollkeeper/__main__.py"]) == ["tollkeeper/none.sql"]


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("# Changelog\n\n## 1.2.0\n", True),
        ("# Changelog\n\n## 1.2.0 (2026-11-17)\n", True),
        ("# Changelog\n\n## Unreleased\n\n## 1.1.0\n", False),
        ("# Changelog\n\n## 1.2.01\n", False),
    ],
    ids=["named", "with its date", "unreleased", "another"],
)
def test_a_version_is_released_once_the_changelog_has_its_section(log: str, told: bool) -> None:
    assert tells_of(log, "1.2.0") is told


def test_libraries_inside_wheels_are_those_of_the_table() -> None:
    inside: dict[str, set[str]] = {}
    for package in locked():
        try:
            files = distribution(package.name).files or []
        except ModuleNotFoundError:
            continue
        found = {file.name.rsplit("-", 1)[0] for file in files if str(file.parent).endswith(".libs")}
        inside |= {package.name: found} if found else {}
    assert inside == {package: set(libraries) for package, libraries in table().bundled.items()}


def test_the_licences_name_every_package_and_what_is_inside() -> None:
    text = licences()
    assert all(f"\n{package.name} {package.version}: " in text for package in locked())
    assert "in av: libx264 (GPL-2.0-or-later)" in text
    assert "Apache License" in text
