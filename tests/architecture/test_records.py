"""Every decision record says what became of it and what it is about, and all links between pages lead somewhere."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.records import DECISIONS, LINK, NAMES, PAGE, QUESTIONS, Record, records, records_page

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src"
PAGES = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
RECORDS = records()
BY_NUMBER = {record.number: record for record in RECORDS}

STATUS = re.compile(r"(in force|not built yet|replaced)( \(.+\))?")
MODULES = re.compile(r"`[a-z_.0-9]+`(, `[a-z_.0-9]+`)*")
FORMS = {"Id": re.compile(r"[WMLHB]\d+"), "Status": STATUS, "About": MODULES}
BACK = {"Amends": "Amended by", "Replaces": "Replaced by"}
CODE = re.compile(r"^```.*?^```|``.+?``|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def of_each_record(check: Callable[[Record], None]) -> Callable[[str], None]:
    """By folder: a test for each record would take longer to be listed than to be run."""

    @pytest.mark.parametrize("folder", QUESTIONS)
    def test(folder: str) -> None:
        for record in RECORDS:
            if record.folder == folder:
                check(record)

    return test


def name_of(line: str) -> str:
    return line.removeprefix("- ").partition(": ")[0]


def relations(name: str) -> set[tuple[str, str]]:
    return {(record.number, other) for record in RECORDS for other in record.related(name)}


def is_a_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def links_of(page: Path) -> list[str]:
    found: list[str] = re.findall(r"\]\(([^()\s]+)\)", CODE.sub("", page.read_text()))
    return [link for link in found if "://" not in link and not link.startswith("mailto:")]


def anchors_of(page: Path) -> set[str]:
    """As they are made of headings: small letters, hyphens for spaces, nothing else."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def leads_somewhere(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not anchor or anchor in anchors_of(target))


def test_numbers_are_given_once_and_without_gaps() -> None:
    assert [record.number for record in RECORDS] == [f"{number:04}" for number in range(1, len(RECORDS) + 1)]


def test_every_record_lies_in_a_folder_that_has_a_question() -> None:
    assert {record.folder for record in RECORDS} == set(QUESTIONS)
    assert {path.name for path in DECISIONS.iterdir()} == {*QUESTIONS, PAGE.name}


@of_each_record
def test_a_record_is_titled_with_its_number(record: Record) -> None:
    assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+\.md", record.file.name)
    assert re.fullmatch(rf"# {record.number}\. \S.+", record.heading)


@of_each_record
def test_a_record_has_a_head_of_the_one_form(record: Record) -> None:
    names = [name_of(line) for line in record.head]
    assert set(names) <= set(NAMES)
    assert names == sorted(names, key=NAMES.index)
    for line, name in zip(record.head, names, strict=True):
        assert FORMS.get(name, LINK).fullmatch(line.removeprefix(f"- {name}: ")), line
    assert {name: names.count(name) for name in FORMS} == dict.fromkeys(FORMS, 1)


@of_each_record
def test_a_record_that_was_replaced_says_by_which(record: Record) -> None:
    assert (record.status == "replaced") == bool(record.related("Replaced by"))


@of_each_record
def test_a_number_in_a_head_links_to_the_record_of_that_number(record: Record) -> None:
    found = [LINK.fullmatch(value) for name in (*BACK, *BACK.values()) for value in record.told(name)]
    linked = {link[1]: (record.file.parent / link[2]).resolve() for link in found if link}
    assert linked == {number: BY_NUMBER[number].file for number in linked}


@pytest.mark.parametrize(("forth", "back"), BACK.items())
def test_relations_are_told_by_both_records(forth: str, back: str) -> None:
    told = relations(forth)
    assert told == {(later, earlier) for earlier, later in relations(back)}
    assert all(later > earlier for later, earlier in told)


def test_an_id_is_shared_only_with_the_record_that_it_replaces() -> None:
    ids = Counter(value for record in RECORDS for value in record.told("Id"))
    kept = [
        record
        for record in RECORDS
        for other in record.related("Replaces")
        if record.told("Id") == BY_NUMBER[other].told("Id")
    ]
    assert {value for value, times in ids.items() if times > 1} == {
        value for record in kept for value in record.told("Id")
    }


@of_each_record
def test_the_modules_that_a_record_is_about_exist(record: Record) -> None:
    modules = [name for value in record.told("About") for name in re.findall(r"`([^`]+)`", value)]
    assert [name for name in modules if not is_a_module(name)] == []


def test_every_link_of_a_page_leads_somewhere() -> None:
    dead = [(page, link) for page in PAGES for link in links_of(page) if not leads_somewhere(page, link)]
    assert dead == []


def test_the_index_is_what_the_records_say() -> None:
    assert PAGE.read_text() == "\n".join(records_page()).rstrip() + "\n", "Run 'make docs'."
