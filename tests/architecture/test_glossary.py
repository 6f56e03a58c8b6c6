"""The glossary: each word once, in order, and where it says that a word lives there is a module."""

import ast
import re
from pathlib import Path

from tools.shape import tree_of

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
SOURCE = ROOT / "src" / "tollkeeper"
ROW = re.compile(
    r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| (?P<term>[^|]+) \| (?P<modules>[^|]+) \|$", re.MULTILINE
)
HEAD = "word"

ROWS = [row for row in ROW.finditer(GLOSSARY.read_text()) if row["word"] != HEAD]


def test_every_line_of_the_table_is_read() -> None:
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("|")]
    assert len(ROWS) == len(lines) - 2 > 50


def test_words_are_unique_and_sorted() -> None:
    words = [row["word"].casefold() for row in ROWS]
    assert words == sorted(set(words))


def test_a_meaning_is_one_sentence() -> None:
    assert [row["word"] for row in ROWS if not re.fullmatch(r"[A-Z].*[.…]", row["meaning"])] == []


def test_every_module_named_there_exists() -> None:
    modules = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row["modules"])}
    missing = {name for name in modules if not (SOURCE / f"{name}.py").is_file()}
    assert missing == set()
    assert all("`" in row["modules"] for row in ROWS)


def test_a_class_that_has_a_word_for_its_name_is_what_the_word_means() -> None:
    """It stands in a module that the glossary names, or is the port to it."""
    meant = {row["word"].replace(" ", "").casefold(): re.findall(r"`([^`]+)`", row["modules"]) for row in ROWS}
    for file in SOURCE.rglob("*.py"):
        place = str(file.relative_to(SOURCE).with_suffix(""))
        classes = [node.name for node in ast.walk(tree_of(file)) if isinstance(node, ast.ClassDef)]
        for name in classes:
            modules = meant.get(name.strip("_").casefold(), [place])
            assert place in modules or place.startswith("ports/"), (name, place)


def test_the_pages_that_newcomers_read_first_link_to_it() -> None:
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        assert "(docs/glossary.md)" in (ROOT / page).read_text(), page
