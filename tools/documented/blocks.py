"""Blocks of code in pages, and the marks before them.

Rules of this file
1. A block in a fence of `sh`, `bash`, `console`, `python` or `sql` is run; of `console`, lines that begin with `$ `.
2. `<!-- not run: REASON -->` in the line before the fence keeps it from being run, and
   `<!-- nothing on this page is run: REASON -->` all of a page. Both are counted, and the reason is printed.
3. `<!-- on an empty deployment -->` before the fence: it is run where nothing was set up yet. `<!-- run by FILE -->`:
   by a test of its own, which reads it from the page.
4. Commands of programs that manage a host or a cluster are not run, and counted too; what stands beside them is.
5. Commands and SQL that are shown in any other way would never be run, so they are an error.
"""

import re
from collections.abc import Iterator

import msgspec

RUN = frozenset({"sh", "bash", "console", "python", "sql"})
OF_HOSTS = frozenset(
    {"systemctl", "journalctl", "docker", "podman", "buildah", "kubectl", "debootstrap", "apt-get", "sudo"}
)
# How a line begins that somebody would type. A name that ends with / or _ is the beginning of one.
PROGRAMS = (
    *("tollkeeper", "curl", "make", "export", "python", "python3", "pip", ".venv/bin/", "openssl", "git", "npm", "tar"),
    *("psql", "pg_", "pgbackrest", "createuser", "createdb", "dropdb", "initdb", "redis-cli", "promtool", "iptables"),
    *sorted(OF_HOSTS),
)
_TYPED = re.compile("|".join(re.escape(name) + ("" if name[-1] in "/_" else r"\s") for name in PROGRAMS))
_SQL = re.compile(
    r"(create|alter|drop) (role|user|database|table|index|schema|extension)\b|(grant|revoke) \w+.* (to|from) \w|"
    r"(select|insert into|update|delete from) .*;$",
    re.IGNORECASE,
)
_PAGE_MARK = re.compile(r"^<!-- nothing on this page is run: (?P<reason>.+?) -->$", re.MULTILINE)
_MARK = re.compile(r"<!-- not run: (?P<reason>.+?) -->")
_BY_TEST = re.compile(r"<!-- run by (?P<file>\S+) -->")
_EMPTY = "<!-- on an empty deployment -->"
_PROMPT = "$ "


class Block(msgspec.Struct, frozen=True, kw_only=True):
    page: str
    # Of the fence.
    line: int
    language: str
    text: str
    # Why it is not run.
    reason: str | None = None
    on_empty: bool = False
    # The test that runs it.
    run_by: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


class NotShownToBeRun(Exception):
    """Commands that are shown where they are not run, one place a line."""


def blocks_of(page: str, text: str) -> list[Block]:
    """Raise NotShownToBeRun for commands that stand in no fence of theirs."""
    of_page = found["reason"] if (found := _PAGE_MARK.search(text)) else None
    blocks = list(_fences(page, text, of_page))
    astray = [] if of_page else list(_astray(page, text))
    if astray:
        raise NotShownToBeRun("\n".join(astray))
    return blocks


def _fences(page: str, text: str, of_page: str | None) -> Iterator[Block]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if not lines[number].startswith("```"):
            number += 1
            continue
        end = next(later for later in range(number + 1, len(lines)) if lines[later].startswith("```"))
        language, mark = lines[number].strip("`").strip(), lines[number - 1] if number else ""
        if language in RUN:
            marked = _MARK.search(mark)
            block = Block(
                page=page,
                line=number + 1,
                language=language if language in {"python", "sql"} else "sh",
                text=_typed(lines[number + 1 : end], language),
                reason=of_page or (marked["reason"] if marked else None),
                on_empty=_EMPTY in mark,
                run_by=by_test["file"] if (by_test := _BY_TEST.search(mark)) else None,
            )
            yield from _parted(block)
        number = end + 1


def _parted(block: Block) -> Iterator[Block]:
    """What can be run here, and what only a host can run."""
    commands = re.findall(r"(?:.*\\\n)*.*\n", block.text)
    of_host = [command for command in commands if (command.split() or [""])[0] in OF_HOSTS]
    if block.language != "sh" or block.reason or not of_host:
        yield block
        return
    rest = "".join(command for command in commands if command not in of_host)
    if rest.strip():
        yield msgspec.structs.replace(block, text=rest)
    yield msgspec.structs.replace(block, text="".join(of_host), reason="a host or a cluster is managed by it")


def _typed(lines: list[str], language: str) -> str:
    if language == "console":
        lines = [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]
    return "\n".join(lines) + "\n"


def _astray(page: str, text: str) -> Iterator[str]:
    """Commands in indented blocks, and in fences of no language."""
    fence: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fence = line.strip("`").strip() if fence is None else None
            continue
        shown = line.strip() if fence == "" or (fence is None and line.startswith("    ")) else ""
        if _TYPED.match(shown) or _SQL.match(shown):
            yield f"{page}:{number}: '{shown[:60]}' is shown, but not run: put it into a fence of sh or sql."
