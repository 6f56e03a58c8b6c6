"""The order of the site's pages."""

import pytest

from tools.site.nav import Section, SiteError, nav_of

START = Section("Start", ["index.md"])


def test_a_pattern_takes_what_is_named_nowhere_in_its_own_folder() -> None:
    guides = Section("Guides", ["guides/last*.md", "guides/*.md", "guides/first.md"])
    pages = ["index.md", "guides/a.md", "guides/b.md", "guides/first.md", "guides/last-of-all.md"]
    assert nav_of([START, guides], pages) == [
        {"Start": ["index.md"]},
        {"Guides": ["guides/last-of-all.md", "guides/a.md", "guides/b.md", "guides/first.md"]},
    ]


def test_a_section_whose_pages_are_not_there_yet_is_left_out() -> None:
    runbook = Section("Operators", [Section("Runbook", ["runbook/*.md"])])
    assert nav_of([START, runbook], ["index.md"]) == [{"Start": ["index.md"]}]
    assert nav_of([START, runbook], ["index.md", "runbook/slow.md"])[1] == {
        "Operators": [{"Runbook": ["runbook/slow.md"]}]
    }


def test_a_named_page_that_is_missing_is_an_error() -> None:
    with pytest.raises(SiteError, match=r"names index\.md, which does not exist"):
        nav_of([START], [])


def test_a_page_that_is_in_no_section_is_an_error() -> None:
    with pytest.raises(SiteError, match=r"guides/lost\.md is in no section"):
        nav_of([START], ["index.md", "guides/lost.md"])
