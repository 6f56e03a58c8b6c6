"""Meters of answers that end with a report: however an answer is cut, the same report, and never more than one says."""

from collections.abc import Callable

from tollkeeper.core.calls.meter import NotAnAnswer
from tollkeeper.core.calls.reporting_meters import EmbeddingMeter, ReportingMeter, TokenImageMeter
from tollkeeper.core.money.prices import Usage
from tools.fuzz.pieces import PIECE_BYTES, ways_to_cut
from tools.fuzz.target import Grown, Target

TOKENS_EACH = 7
METERS: tuple[Callable[[], EmbeddingMeter | TokenImageMeter], ...] = (
    EmbeddingMeter,
    lambda: TokenImageMeter(TOKENS_EACH),
)

Seen = tuple[int, bool, Usage | None]


def check(data: bytes) -> None:
    for new_meter in METERS:
        whole = _read(new_meter(), [data])
        for pieces in ways_to_cut(data):
            assert _read(new_meter(), pieces) == whole
        if whole is not None:
            images, is_finished, reported = whole
            assert reported is None or is_finished
            assert 0 <= images <= len(data)


def _read(meter: EmbeddingMeter | TokenImageMeter, pieces: list[bytes]) -> Seen | None:
    try:
        for piece in pieces:
            meter.read(piece)
    except NotAnAnswer:
        return None
    _check_size(meter, pieces)
    return meter.images, meter.finished, meter.reported


def _check_size(meter: ReportingMeter, pieces: list[bytes]) -> None:
    assert meter.characters == sum(map(len, pieces))


def work(data: bytes) -> None:
    """One piece, by each."""
    for new_meter in METERS:
        _read(new_meter(), [data])


TARGET = Target(
    check=check,
    work=work,
    seeds=(
        b'{"data":[{"index":0,"embedding":[0.1,-2e-3]},{"embedding":"AA=="}],"usage":{"prompt_tokens":8}}',
        b'{"data":[{"b64_json":"iVBO"}],"usage":{"input_tokens":5,"output_tokens":9,"output_tokens_details":{}}}',
        b'{"usage":{"prompt_tokens":1,"estimated":true},"data":[{"embedding":[]}],"usage":{"prompt_tokens":2}}',
        b'{"error":{"message":"no"}}',
        b'{"usage":null {"prompt_tokens": 1}, "data": [1]}',
    ),
    words=(b'"data"', b'"embedding"', b'"usage"', b'"b64_json"', b'"prompt_tokens"', b"[{", b"}]", b"{{", b"null"),
    grown=(
        Grown(b"0.5,", b'{"data":[{"embedding":[', b"1]}]}"),
        Grown(b'{"embedding":[1]},', b'{"data":[', b"{}]}"),
        Grown(b"[", b'{"data":[{"embedding":', b"}]}", closing=b"]"),
        Grown(b'"a":1,', b'{"usage":{', b'"prompt_tokens":1}}'),
        Grown(b"9", b'{"data":[],"usage":{"prompt_tokens":', b"}}"),
        Grown(b"a", b'{"data":[{"b64_json":"', b'"}]}'),
    ),
    # As of images, by two meters.
    size_bytes_most=PIECE_BYTES // 4,
)
