"""Lists on terminals of any width, in pipes and as JSON: nothing is ever cut."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from typer.core import TyperGroup

from tollkeeper.cli import speak
from tollkeeper.cli.families import FAMILIES, loaded
from tollkeeper.cli.listing import cash_fields, quota_fields, show_fields, show_json, show_list, show_table

HEAD = ("call", "name", "USD", "what came of it")
ID = "0199c0de-0000-7000-8000-00000000abcd"
LINES = [
    (ID, "the laptop of Ada", "0.0003075", "it was answered in full after two attempts at other accounts"),
    (ID, "中文的名字", "-12345678.000000000001", "short"),
]
# Commands that act, by their last word; whatever is not one of them shows something, and has --json.
ACTS = {
    *("serve", "front", "work", "console", "migrate", "credit", "redeem", "faucet", "create", "disable", "enable"),
    *("edit", "rotate", "pause", "resume", "revoke", "open", "role", "revoke-sessions", "reset-password", "unlock"),
    *("drop-second-factor", "drop-passkeys", "sign-up", "verify", "sign-in", "make", "withdraw", "approve", "pay"),
    *("refuse", "add", "set", "move", "enter", "extend", "drain", "test", "remove", "lift", "export", "clean"),
    *("provider", "model", "rotate-key", "retire", "reseal", "reopen", "set-group"),
    *("confirm", "decline", "end"),
    *("rotate-secret", "again", "on", "off", "change"),
    *("hide", "unhide", "provider", "model", "rotate-key", "retire", "reseal", "reopen"),
}


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """As if standard output were one, of this width."""

    def terminal(*, stderr: bool = False) -> speak.PlainConsole:
        return speak.PlainConsole(
            stderr=stderr, highlight=False, soft_wrap=True, force_terminal=True, width=width, color_system=None
        )

    for module in ("listing", "speak", "progress"):
        monkeypatch.setattr(f"tollkeeper.cli.{module}.plain_console", terminal)


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int) -> str:
    """What a terminal of this width gets."""
    on_a_terminal(monkeypatch, width)
    show_table(HEAD, LINES)
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [30, 60, 80, 100, 120, 200])
def test_no_id_name_or_figure_is_cut_at_any_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    out = shown(monkeypatch, capsys, width)
    for line in LINES:
        for cell in line[:3]:
            assert cell in out
    # A longer text may wrap between its words.
    words = re.sub(r"[┏━┳┓┃┡╇┩│└─┴┘]", " ", out).split()
    assert [word for word in LINES[0][3].split() if word not in words] == []
    assert "…" not in out


def test_a_table_is_never_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {width: shown(monkeypatch, capsys, width) for width in range(80, 201, 10)}
    drawn = {width: out for width, out in tables.items() if "┃" in out}
    assert set(drawn) >= {140, 200}
    for width, out in drawn.items():
        assert max(map(len, out.splitlines())) <= width
    assert f"call             {ID}" in tables[80]


def test_in_a_pipe_a_row_is_a_line_with_tabs_between_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(HEAD, [*LINES, ("a\tb", "two\nlines", "\x1b[31mred", "")])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t") for line in lines[:3]] == [list(HEAD), *map(list, LINES)]
    assert lines[3].split("\t") == ["a\ufffdb", "two lines", "\ufffd[31mred", ""]


def test_in_a_pipe_a_field_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_fields([("call", ID), ("why", "a\nb")])
    assert capsys.readouterr().out == f"call\t{ID}\nwhy\ta b\n"


def test_json_has_rows_in_data_times_in_utc_and_amounts_as_integers_with_usd_beside_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def record(number: int) -> dict[str, Any]:
        at = datetime(2026, 7, 1, 12, 30, 5, tzinfo=UTC)
        return {"id": number, "at": at} | quota_fields(charged=number, limit=None) | cash_fields(paid=2_500_000)

    show_list([750], head=("id",), line=lambda each: (str(each),), record=record, as_json=True, more={"next": UUID(ID)})
    assert json.loads(capsys.readouterr().out) == {
        "data": [
            {
                "id": 750,
                "at": "2026-07-01T12:30:05Z",
                "charged_micro_quota": 750,
                "charged_usd": "0.0000000015",
                "limit_micro_quota": None,
                "limit_usd": None,
                "paid_micro_usd": 2_500_000,
                "paid_usd": "2.50",
            }
        ],
        "next": ID,
    }


def test_an_empty_list_is_a_sentence_for_people_and_an_empty_list_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for as_json in (False, True):
        show_list([], head=("id",), line=lambda _: (), record=lambda _: {}, as_json=as_json, none="There are no calls.")
    words, document = capsys.readouterr().out.split("\n", 1)
    assert words == "There are no calls."
    assert json.loads(document) == {"data": []}


def test_whatever_a_record_holds_becomes_json(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"networks": [object.__repr__], "text": "\x1b[31m"})
    assert "\x1b" not in capsys.readouterr().out


def leaves(found: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(found, TyperGroup):
        return [leaf for name, each in found.commands.items() for leaf in leaves(each, (*path, name))]
    return [(path, found)]


@pytest.mark.parametrize("family", FAMILIES)
def test_whatever_shows_something_has_json(family: str) -> None:
    for path, command in leaves(loaded(family), (family,)):
        options = {option for parameter in command.params for option in parameter.opts}
        assert ("--json" in options) is (path[-1] not in ACTS), f"tollkeeper {' '.join(path)}"
