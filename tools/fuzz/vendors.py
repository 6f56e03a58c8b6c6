"""What the targets of vendors share: an account, and how the relay hears what was translated."""

from collections.abc import Callable

from tollkeeper.core.calls.chat import ChatOrder, read_chat
from tollkeeper.core.calls.meter import Meter, NotAnAnswer
from tollkeeper.core.calls.sse import EventSplitter, data_of
from tollkeeper.core.calls.stream_event import Event
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.errors import BadRequest
from tollkeeper.ports import ProviderAccount, Vendor
from tollkeeper.providers.vendors.chat_answer import UNREADABLE, Heading
from tollkeeper.providers.vendors.translated import StreamTranslator
from tollkeeper.settings import Secret
from tools.fuzz.pieces import PIECE_BYTES

# Nobody's.
SECRET = "the-secret-of-the-account-4f9aQ2"  # noqa: S105
HEADING = Heading("", 0, "m")
OUTPUT_TOKENS_MOST = 16_384
# Enough for thousands of messages, of which each takes a few microseconds: what takes longer is none of theirs.
ORDER_BYTES_MOST = 256 * 1024
# One event, or a whole answer of several minutes.
ANSWER_BYTES_MOST = 256 * 1024


def account(vendor: str) -> ProviderAccount:
    return ProviderAccount(id=1, name="a", vendor=vendor, base_url="https://vendor.test", secret=Secret(SECRET))


def sent(vendor: Vendor, to: ProviderAccount, data: bytes) -> tuple[ChatOrder, bytes] | None:
    """The order and the body that goes out for it; None where the caller is to correct it."""
    try:
        order = read_chat(data)
        address, _, body = vendor.chat(order, to, most_output_tokens=OUTPUT_TOKENS_MOST)
    except BadRequest:
        return None
    assert address.startswith("https://vendor.test/")
    assert address.isascii()
    assert not any(mark in address for mark in " \r\n#")
    return order, body


def check_stream(translator: StreamTranslator, data: bytes) -> None:
    """Every event is worth events that the meter can read, or none."""
    meter = Meter()
    for event in EventSplitter().feed(data + b"\n\n"):
        if told := data_of(event):
            _check_heard(meter, translator.read(told))
    _check_heard(meter, translator.end())


def _check_heard(meter: Meter, told: bytes) -> None:
    splitter = EventSplitter()
    for event in splitter.feed(told):
        data = data_of(event)
        assert data
        assert meter.read_event(data) is not Event.MALFORMED
    assert not splitter.rest


def check_whole(translate: Callable[[bytes], bytes], data: bytes) -> None:
    """A whole answer becomes one of ours, or is none."""
    try:
        told = translate(data)
    except NotAnAnswer:
        return
    meter = WholeMeter()
    meter.read(told)
    assert meter.output_tokens >= 0
    usage = meter.reported
    assert usage is None or min(usage.input_units, usage.output_units, usage.cached_units) >= 0


def work_stream(translator: StreamTranslator, data: bytes) -> None:
    """On a piece as the network brings it, up to what cannot be read."""
    for event in EventSplitter().feed(data[:PIECE_BYTES] + b"\n\n"):
        if (told := data_of(event)) and translator.read(told) is UNREADABLE:
            return
    translator.end()


def work_whole(translate: Callable[[bytes], bytes], data: bytes) -> None:
    try:
        translate(data)
    except NotAnAnswer:
        return
