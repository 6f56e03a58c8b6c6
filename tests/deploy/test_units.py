"""The units of systemd say only what systemd knows: judged by itself where it is, and by a list of directives."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.shipped import UNITS

# By section. A directive that is misspelt is ignored by systemd, with a line in the journal that nobody reads.
KNOWN = {
    "Unit": "Description Documentation Wants After Before Requires",
    "Service": """
        Type ExecStart ExecReload Environment EnvironmentFile User Group StateDirectory StateDirectoryMode Restart
        RestartSec KillMode TimeoutStartSec TimeoutStopSec LimitNOFILE LimitCORE RemainAfterExit
        NoNewPrivileges CapabilityBoundingSet AmbientCapabilities ProtectSystem ProtectHome PrivateTmp PrivateDevices
        ProtectClock ProtectControlGroups ProtectHostname ProtectKernelLogs ProtectKernelModules ProtectKernelTunables
        ProtectProc RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID LockPersonality
        SystemCallArchitectures SystemCallFilter SystemCallErrorNumber UMask MemoryDenyWriteExecute ReadWritePaths
    """,
    "Install": "WantedBy",
}


def unknown(text: str) -> list[str]:
    """Directives that stand in no list, each with its section."""
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith(("#", ";")):
            name = line.partition("=")[0]
            if name not in KNOWN.get(section, "").split():
                found.append(f"[{section}] {name}")
    return found


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_units_have_known_directives(file: Path) -> None:
    assert unknown(file.read_text()) == []


def test_a_directive_that_is_misspelt_or_stands_in_another_section_is_found() -> None:
    assert unknown("[Service]\nProtectSytem=strict\n# Foo=1\n[Install]\nUser=x\n") == [
        "[Service] ProtectSytem",
        "[Install] User",
    ]


@pytest.mark.not_quick
@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_systemd_itself_has_nothing_to_say_against_them(file: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is systemd's own, and there is none on this machine")
    # It looks for the program, which is not installed here.
    text = file.read_text().replace("/opt/tollkeeper/bin/tollkeeper", sys.executable)
    (tmp_path / file.name).write_text(text)
    judged = [program, "verify", "--man=no", str(tmp_path / file.name)]
    done = subprocess.run(judged, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / file.name).write_text(text.replace("ProtectSystem=", "ProtectSytem="))
    done = subprocess.run(judged, capture_output=True, text=True, timeout=60, check=False)
    assert "ProtectSytem" in done.stderr
