"""Which blocks of a page are run."""

import pytest

from tools.documented.blocks import NotShownToBeRun, blocks_of
from tools.documented.pages import ROOT, documented_blocks

PAGE = """# A page

```sh
tollkeeper jobs
```

<!-- not run: it takes a day -->
```bash
make proofs
```

<!-- on an empty deployment -->
```console
$ tollkeeper migrate
The schema is up to date.
```

```json
{"curl": 1}
```

    GET ──► answer
"""


def test_fences_of_commands_are_run_unless_they_are_marked() -> None:
    shown = blocks_of("a.md", PAGE)
    assert [(block.line, block.reason, block.on_empty) for block in shown] == [
        (3, None, False),
        (8, "it takes a day", False),
        (13, None, True),
    ]


def test_of_a_console_only_what_was_typed_is_run() -> None:
    assert blocks_of("a.md", PAGE)[2].text == "tollkeeper migrate\n"


def test_a_mark_can_be_for_the_whole_page() -> None:
    shown = blocks_of("a.md", "<!-- nothing on this page is run: it needs a cluster -->\n" + PAGE)
    assert {block.reason for block in shown} == {"it needs a cluster"}


def test_commands_for_a_host_are_not_run_but_those_beside_them_are() -> None:
    shown = blocks_of("a.md", "```sh\nsystemctl restart \\\n  it\ntollkeeper jobs\n```\n")
    assert [(block.text, block.reason) for block in shown] == [
        ("tollkeeper jobs\n", None),
        ("systemctl restart \\\n  it\n", "a host or a cluster is managed by it"),
    ]


@pytest.mark.parametrize(
    "astray",
    [
        "    curl https://x",
        "```\ntollkeeper jobs\n```",
        "    pg_dump --file=x postgresql://y",
        "    createdb   -O a b",
        "    kubectl get pods",
        "    create role nobody nologin;",
        "    grant one to another;",
        "    select 1;",
    ],
    ids=["indented", "no language", "PostgreSQL's", "createdb", "kubectl", "SQL", "grant", "select"],
)
def test_commands_that_would_never_be_run_are_an_error(astray: str) -> None:
    with pytest.raises(NotShownToBeRun, match="put it into a fence"):
        blocks_of("a.md", f"# A page\n\n{astray}\n")


def test_settings_and_pictures_are_no_commands() -> None:
    page = "    archive_mode = on\n    callers ──► select or update, by a pool\n    make-believe\n"
    assert blocks_of("a.md", page) == []


def test_what_a_test_of_its_own_runs_is_read_by_that_test() -> None:
    of_tests = [block for blocks in documented_blocks().values() for block in blocks if block.run_by]
    assert of_tests
    for block in of_tests:
        assert block.page.rpartition("/")[2] in (ROOT / str(block.run_by)).read_text(), block.place
        assert block.reason is None


def test_what_is_not_run_has_a_reason_that_says_more_than_that() -> None:
    """All others are run by prove-run."""
    shown = [block for blocks in documented_blocks().values() for block in blocks]
    reasons = [block.reason for block in shown if block.reason]
    assert all(len(reason.split()) >= 3 for reason in reasons)
    assert len(reasons) * 3 <= len(shown), "most of what is shown must be run"
