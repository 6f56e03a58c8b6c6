"""Announcements on the command line."""

import pytest

from tests.command_line import tollkeeper
from tests.conftest import Stores, variables


@pytest.fixture
async def own(stores: Stores) -> dict[str, str]:
    return await variables(stores)


def test_an_announcement_is_added_listed_and_removed(own: dict[str, str]) -> None:
    nothing = tollkeeper(own, "announce", "list")
    assert nothing.stdout == "Nothing is announced.\n"
    texts = ("--english", "Maintenance on Sunday", "--chinese", "周日维护")
    made = tollkeeper(own, "announce", "add", *texts, "--until", "2999-12-31")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("announcement 1 is shown from ")
    listed = tollkeeper(own, "announce", "list").stdout
    assert "Maintenance on Sunday" in listed
    assert "周日维护" in listed
    assert tollkeeper(own, "announce", "remove", "1", "--reason", "a test").stdout == "announcement 1 is not shown\n"
    assert (
        tollkeeper(own, "announce", "remove", "1", "--reason", "a test").stdout
        == "announcement 1 is not shown, as it was before\n"
    )
    over = tollkeeper(own, "announce", "list", "--over").stdout.splitlines()[1].split("\t")
    assert (over[0], over[2].split()[0], over[3]) == ("1", "ended", "Maintenance on Sunday")
    assert tollkeeper(own, "announce", "list").stdout == "Nothing is announced.\n"
    for wrong in (("--until", "2001-01-01"), ("--until", "soon"), ("--until", "2998-01-01", "--from", "2999-01-01")):
        refused = tollkeeper(own, "announce", "add", *texts, *wrong)
        assert (refused.returncode, "Nothing was done." in refused.stderr) == (1, True)
    unknown = tollkeeper(own, "announce", "remove", "7", "--reason", "a test")
    assert (unknown.returncode, unknown.stderr) == (1, "There is no announcement 7.\n")
