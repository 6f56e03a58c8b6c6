import asyncio
import json
import os
import threading
from datetime import UTC, datetime, timedelta

import pytest

from tollkeeper.edge import call_log
from tollkeeper.edge.call_log import CallLine, CallLog, time_for_log


def a_line(request_id: str) -> CallLine:
    return CallLine(
        time="2026-01-01T00:00:00.000+00:00",
        request_id=request_id,
        address="main",
        method="GET",
        path="/v1/models",
        status=200,
        milliseconds=1.5,
        sent_bytes=10,
        peer="127.0.0.1",
    )


def read_all(descriptor: int) -> list[dict[str, object]]:
    with os.fdopen(descriptor, "rb") as reader:
        return [json.loads(line) for line in reader]


async def test_closing_writes_what_is_left_in_order() -> None:
    reading, writing = os.pipe()
    log = CallLog(writing)
    for number in range(100):
        log.write(a_line(str(number)))
    await log.close()
    os.close(writing)
    assert [line["request_id"] for line in read_all(reading)] == [str(number) for number in range(100)]


async def test_a_reader_that_does_not_read_stops_no_call_and_dropped_lines_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_log, "BUFFER_BYTES_MOST", 200_000)
    # This one reads, as fast as a busy machine lets it.
    monkeypatch.setattr(call_log, "CLOSE_SECONDS", 60.0)
    reading, writing = os.pipe()
    log = CallLog(writing)
    for number in range(5_000):
        log.write(a_line(str(number)))
        if number % 100 == 0:
            await asyncio.sleep(0)
    lines: list[dict[str, object]] = []
    reader = threading.Thread(target=lambda: lines.extend(read_all(reading)))
    reader.start()
    await log.close()
    os.close(writing)
    reader.join()
    dropped = sum(int(str(line["dropped_lines"])) for line in lines if "dropped_lines" in line)
    written = sum("request_id" in line for line in lines)
    assert dropped > 0
    assert written + dropped == 5_000


@pytest.mark.parametrize("unix_milliseconds", [0, 1, 999, 1_000, 1_767_225_600_042, 4_102_444_799_999])
def test_a_lines_time_is_iso_8601_to_the_millisecond(unix_milliseconds: int) -> None:
    at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=unix_milliseconds)
    assert time_for_log(unix_milliseconds) == at.isoformat(timespec="milliseconds")
