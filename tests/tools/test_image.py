"""What goes into the image, and how it is built."""

import re
from pathlib import Path

import pytest

from tools.dependencies import locked
from tools.image import BUILDERS, EXTRAS, locks, make
from tools.licences import licences

CONTAINERFILE = Path(__file__).parents[2] / "deploy" / "Containerfile"


def test_health_checks_are_kept_by_whoever_builds_it() -> None:
    """OCI's own format, which podman and buildah would take, has none."""
    assert "HEALTHCHECK" in CONTAINERFILE.read_text()
    for program, *options in BUILDERS:
        assert program == "docker" or "--format=docker" in options


@pytest.mark.not_quick
@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_the_image_is_told_of_an_extra_and_has_its_lock(extra: str | None, tmp_path: Path) -> None:
    told = tmp_path / "told"
    recorder = tmp_path / "build"
    recorder.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}\n')
    recorder.chmod(0o755)
    make([str(recorder)], tmp_path, extra=extra)
    arguments = re.findall(r"^EXTRAS=(.*)$", told.read_text(), re.MULTILINE)
    assert arguments == ([] if extra is None else [f"[{extra}]"])
    assert [lock.stem for lock in locks(extra)] == ["runtime", *([] if extra is None else [extra])]
    assert '"tollkeeper${EXTRAS}"' in CONTAINERFILE.read_text()


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_licences_of_an_extra_go_along(extra: str) -> None:
    text = licences(extra)
    assert all(f"\n{package.name} {package.version}: " in text for package in [*locked(), *locked(extra)])
