"""Wire files: what each vendor is sent for an order, and what its answer becomes, to the last member."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.providers.vendors.builders import MOST_OUTPUT_TOKENS, Heard, an_account, events_in, metered, told_by
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.whole_meter import WholeMeter

GOLDEN = Path(__file__).parent / "golden"
HEARD = sorted(GOLDEN.glob("*/*/heard.*"))
HIDDEN_THOUGHTS = re.compile(rb'(?:"signature_delta","signature"|"redacted_thinking","data"):"([^"]+)"')
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
    WholeMeter().read(told)
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


@pytest.mark.parametrize("file", HEARD, ids=lambda file: str(file.relative_to(GOLDEN)))
def test_of_an_answer_as_the_vendor_has_it_nothing_is_left_out(file: Path) -> None:
    """What is left out is taken for output of a form that nobody knows, and charged where no report comes. So is what
    stands for hidden thoughts, which are longer than what is shown of them: in a stream it is told later."""
    order, heard = read_chat((file.parent / "asked.json").read_bytes()), file.read_bytes()
    answer = VENDORS[file.relative_to(GOLDEN).parts[0]].translate(Heard([heard]), order)

    async def read_all() -> None:
        while await answer.read():
            pass

    asyncio.run(read_all())
    told_later = HIDDEN_THOUGHTS.findall(heard) if file.suffix == ".sse" else []
    assert answer.untranslated is not None
    assert answer.untranslated.characters == sum(map(len, told_later))
