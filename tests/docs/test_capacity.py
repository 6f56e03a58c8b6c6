"""The capacity page: its figures are those of the page they come from, and its sizes follow from them."""

import math
import re
from pathlib import Path

import msgspec
import pytest

from tollkeeper.settings import Settings

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGE, SPEED = (GUIDES / "capacity.md").read_text(), (GUIDES / "speed.md").read_text()
USUAL = {field.name: field.default for field in msgspec.structs.fields(Settings)}
ROW = re.compile(
    r"^\| ([\d,]+) \| (\d+) \| ([\d,]+) \| ([\d,]+) MB \| (\d+) \| ([\d.]+) \| ([\d,]+) GB \|$", re.MULTILINE
)
CHUNKS, SECONDS, LOAD, OF_PEAK = 60, 8, 0.6, 1 / 5
OTHERS = 12 + 8 + 10


def figure(what: str) -> float:
    """Of the first table of the page."""
    [found] = re.findall(rf"^\| {what} \| (?:up to )?([\d,.]+) ", PAGE, re.MULTILINE)
    return number(found)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_what_one_thing_takes_is_what_was_measured() -> None:
    [(gateway, postgres, redis)] = re.findall(r"the gateway ([\d,]+), PostgreSQL ([\d,]+), Redis ([\d,]+)", SPEED)
    for taken in (gateway, postgres, redis):
        assert f"| {taken} µs |" in PAGE
    [chunk] = re.findall(r"CPU of a chunk: bare \d+ µs, full (\d+)", SPEED)
    [stream] = re.findall(r"KB each \|[^|]*\| \**([\d.]+)", SPEED)
    [idle] = re.findall(r"an idle worker, MB \|[^|]*\| \**([\d.]+)", SPEED)
    assert (figure("each chunk of a stream"), figure("a stream under way")) == (number(chunk), number(stream))
    assert figure("a worker process") == number(idle)


def test_connections_and_days_are_those_of_the_settings() -> None:
    assert figure("a worker of the gateway") == USUAL["database_connections"] + 6
    assert figure("`tollkeeper work`") == USUAL["database_connections"]
    days = USUAL["usage_days"], USUAL["usage_days"] + USUAL["usage_cleaned_days"]
    assert f"for {days[0]} to {days[1]} days" in PAGE
    assert USUAL["reading_bytes"] == 256 * 1024**2


@pytest.mark.parametrize("row", ROW.findall(PAGE), ids=lambda row: row[0])
def test_sizes_follow_from_the_figures(row: tuple[str, ...]) -> None:
    calls, workers, streams, memory, connections, cores, disk = map(number, row)
    microseconds = figure("a call, short prompt, whole answer") + CHUNKS * figure("each chunk of a stream")
    assert workers == math.ceil(calls * microseconds / 1e6 / LOAD)
    assert streams == calls * SECONDS
    assert memory == round(workers * figure("a worker process") + streams * figure("a stream under way") / 1_000)
    assert connections == 2 * workers * figure("a worker of the gateway") + OTHERS
    [postgres] = re.findall(r"^\| \| ([\d,]+) µs \| a core of PostgreSQL", PAGE, re.MULTILINE)
    assert cores == round(calls * number(postgres) / 1e6, 2)
    kept = [figure(r"a receipt \(`usage`\)") * 61, figure(r"a hold \(`hold`\)") * 30]
    ledger = figure(r"an entry of the ledger \(`entry`\)") * 365
    assert disk == round(calls * OF_PEAK * 86_400 * (sum(kept) + ledger) / 1e9)


def test_there_are_sizes() -> None:
    assert len(ROW.findall(PAGE)) == 4
