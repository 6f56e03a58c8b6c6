"""The decision records: what stands in the head of each, and the index of all, which is generated.

Rules of this file
1. A record lies in the folder of the question that it answers. Its name begins with its number.
2. Between its title and its first section stands its head: one fact a line, in the order of `NAMES`. A relation to
   another record is one link a line, and may have a remark in brackets behind it.
3. The index is the end of `docs/decisions/README.md`. What stands above the mark is written by hand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DECISIONS = Path(__file__).parent.parent / "docs" / "decisions"
PAGE = DECISIONS / "README.md"
MARK = "<!-- What follows is generated from the heads of the records: `make docs` -->\n"
QUESTIONS = {
    "charges": "What does a call cost, and what is counted?",
    "quota": "How does quota come in, how is it held and spent, and what does a balance show?",
    "calls": "What may a caller send, and what comes back?",
    "limits": "How much may a caller ask for, and who is kept out?",
    "providers": "Which provider account serves a call, what is sent to it, and what if it fails?",
    "people": "How do people sign in, and how are keys and the service managed?",
    "security": "What is kept secret, what is never kept, and who may do what?",
    "stores": "Where is state kept, how does it get there, and what if a store is away?",
    "building": "What is it built with, and how does it run and grow?",
}
NAMES = ("Id", "Status", "Replaces", "Replaced by", "Amends", "Amended by", "About")
LINK = re.compile(r"\[(\d{4})\]\(([^()]+)\)( \(.+\))?")
REMARK = re.compile(r" \(.*\)$")


@dataclass(frozen=True)
class Record:
    file: Path
    heading: str
    head: tuple[str, ...]

    @property
    def number(self) -> str:
        return self.file.name[:4]

    @property
    def folder(self) -> str:
        return self.file.parent.name

    @property
    def title(self) -> str:
        return self.heading.partition(". ")[2]

    @property
    def status(self) -> str:
        return REMARK.sub("", " ".join(self.told("Status")))

    def told(self, name: str) -> list[str]:
        """Everything that the head says under this name."""
        opening = f"- {name}: "
        return [line.removeprefix(opening) for line in self.head if line.startswith(opening)]

    def related(self, name: str) -> list[str]:
        """The numbers of the records that the head links to under this name."""
        return [found[1] for value in self.told(name) if (found := LINK.fullmatch(value))]


def records() -> list[Record]:
    return [_read(file) for file in sorted(DECISIONS.glob("*/*.md"), key=lambda file: file.name)]


def records_page() -> Iterator[str]:
    by_hand, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    yield by_hand + (mark or MARK)
    written = records()
    for folder, question in QUESTIONS.items():
        yield f"### {folder}\n\n{question}\n"
        yield "| number | id | title | status |\n|---|---|---|---|"
        for record in written:
            if record.folder == folder:
                yield _row(record)
        yield ""


def _row(record: Record) -> str:
    link = record.file.relative_to(DECISIONS).as_posix()
    return f"| [{record.number}]({link}) | {' '.join(record.told('Id'))} | {record.title} | {_standing(record)} |"


def _standing(record: Record) -> str:
    """The status, with the numbers of the records that changed it."""
    replaced, amended = (", ".join(record.related(name)) for name in ("Replaced by", "Amended by"))
    now = f"{record.status} by {replaced}" if replaced else record.status
    return f"{now}; amended by {amended}" if amended else now


def _read(file: Path) -> Record:
    top = file.read_text(encoding="utf-8").partition("\n## ")[0]
    heading, _, head = top.partition("\n")
    return Record(file, heading, tuple(head.strip("\n").split("\n")))
