"""Wire files: what each vendor is sent for an order, and what its answer becomes, to the last member."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, an_account, events_in, metered, told_by
from tollkeeper.app import VENDORS
from tollkeeper.core.chat import read_chat
from tollkeeper.core.meter import Meter

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.parent.relative_to(GOLDEN) for path in GOLDEN.glob("*/*/asked.json"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_order_is_sent_as_the_vendor_has_it(case: Path) -> None:
    vendor = case.parts[0]
    order = read_chat((GOLDEN / case / "asked.json").read_bytes())
    _, _, body = VENDORS[vendor].chat(order, an_account(vendor), most_output_tokens=MOST_OUTPUT_TOKENS)
    assert json.loads(body) == json.loads((GOLDEN / case / "sent.json").read_text())


@pytest.mark.parametrize("case", [case for case in CASES if (GOLDEN / case / "heard.json").exists()], ids=str)
async def test_a_whole_answer_is_told_as_the_protocol_has_it(case: Path) -> None:
    order = read_chat((GOLDEN / case / "asked.json").read_bytes())
    told = await told_by(VENDORS[case.parts[0]], [(GOLDEN / case / "heard.json").read_bytes()], order)
    Meter().read_whole(told)
    assert undated(told) == json.loads((GOLDEN / case / "told.json").read_text())


@pytest.mark.parametrize("case", [case for case in CASES if (GOLDEN / case / "heard.sse").exists()], ids=str)
@pytest.mark.parametrize("piece_bytes", [1, 7, 1 << 20])
async def test_a_stream_is_told_as_the_protocol_has_it_however_it_arrives(case: Path, piece_bytes: int) -> None:
    order = read_chat((GOLDEN / case / "asked.json").read_bytes())
    heard = (GOLDEN / case / "heard.sse").read_bytes()
    pieces = [heard[start : start + piece_bytes] for start in range(0, len(heard), piece_bytes)]
    told = await told_by(VENDORS[case.parts[0]], pieces, order)
    expected = events_in((GOLDEN / case / "told.sse").read_bytes())
    assert [undated(data) for data in events_in(told)] == [undated(data) for data in expected]
    assert metered(told).finished


def undated(data: bytes) -> Any:
    return data if data == b"[DONE]" else json.loads(data) | {"created": 0}
