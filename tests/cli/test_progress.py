"""Long work says that it goes on, and how far."""

import pytest

from tests.cli.test_listing import on_a_terminal
from tollkeeper.cli.progress import progress
from tools.services.process import wait_until


def test_where_nobody_looks_on_it_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    with progress("exporting", every_seconds=0.01) as note:
        note("2000 calls")

        def has_said() -> bool:
            said.append(capsys.readouterr().err)
            return "exporting: 2000 calls (0 s)" in "".join(said)

        wait_until(has_said)


def test_what_is_done_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("exporting") as note:
        note("2 calls")
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_is_a_line_that_is_gone_afterwards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(monkeypatch, width=80)
    with progress("checking the books"):
        pass
    out, err = capsys.readouterr()
    assert out == ""
    assert "checking the books" in err
    assert err.endswith("\x1b[2K")
