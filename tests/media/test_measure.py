"""Files are as long as they are heard, whatever they say of themselves."""

import io
import math
import struct
from fractions import Fraction

import pytest

from tests.media.audio import (
    FRAGMENTS,
    KINDS,
    LOW_MP3,
    M4A,
    MP3,
    MP4,
    MPEG,
    VORBIS,
    WAV,
    WEBM,
    Kind,
    audio,
    both,
    decoded_milliseconds,
    muxed,
    packets,
)
from tests.media.boxes import STCO, STSC, STSD, STTS, TRAK, box, boxes, edited, with_number
from tollkeeper.media.lengths import DEMUXERS
from tollkeeper.media.measure import measure

pytestmark = pytest.mark.not_quick

# Encoders of some kinds fill up their last packet, and leave nothing behind that would tell.
FILLED_UP_MILLISECONDS = 100
# A packet of AAC or of Opus: the decoders at hand do not shorten the last one, as it is declared.
PACKET_MILLISECONDS = 27

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def measured(content: bytes, kind: Kind) -> str:
    return measure(io.BytesIO(content), DEMUXERS[kind.ending])


def milliseconds(content: bytes, kind: Kind) -> int:
    word, length, _ = measured(content, kind).split()
    assert word == "ok"
    return int(length)


@kinds
@pytest.mark.parametrize("seconds", [0.25, 1, 2.5])
def test_a_file_is_as_long_as_a_decoder_hears_it(kind: Kind, seconds: float) -> None:
    content = audio(kind, seconds)
    length = milliseconds(content, kind)
    assert 0 <= decoded_milliseconds(content) - length + 1 <= PACKET_MILLISECONDS
    assert 0 <= length - 1000 * seconds <= FILLED_UP_MILLISECONDS


@kinds
def test_silence_is_as_long_as_sound(kind: Kind) -> None:
    assert milliseconds(audio(kind, silent=True), kind) == milliseconds(audio(kind), kind)


@pytest.mark.parametrize("kind", [MP3, LOW_MP3, MP4, M4A, WAV, WEBM], ids=lambda kind: kind.ending)
def test_what_encoders_add_at_the_ends_is_not_counted(kind: Kind) -> None:
    assert milliseconds(audio(kind, 1.5), kind) == 1500


@kinds
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_of_a_truncated_file_only_what_is_there_counts(kind: Kind, share: float) -> None:
    content = audio(kind, 2)
    answer = measured(content[: int(len(content) * share)], kind)
    if answer not in {"not_audio", "unmeasurable"}:
        assert 0 < int(answer.split()[1]) <= 2000 * share + FILLED_UP_MILLISECONDS


@pytest.mark.parametrize("size", [0, 1000, 44100, 10**8, 2**32 - 1])
def test_a_wav_that_lies_about_its_size_is_measured_as_it_is_heard(size: int) -> None:
    content = audio(WAV)
    at = content.index(b"data") + 4
    forged = content[:4] + struct.pack("<I", size) + content[8:at] + struct.pack("<I", size) + content[at + 4 :]
    assert milliseconds(forged, WAV) == -(-decoded_milliseconds(forged) // 1)
    assert milliseconds(forged, WAV) <= 1000


@pytest.mark.parametrize("duration", [0, 1, 2**32 - 1])
@pytest.mark.parametrize("path", [("moov", "mvhd"), ("moov", "trak", "mdia", "mdhd")], ids=lambda path: path[-1])
def test_an_mp4_that_lies_about_its_duration_is_measured_all_the_same(path: tuple[str, ...], duration: int) -> None:
    assert milliseconds(edited(audio(MP4), path, with_number(16, duration)), MP4) == 1000


@pytest.mark.parametrize("ticks", [2, 500, 50_000, 2**31 - 1])
def test_an_mp4_that_lies_about_its_samples_is_measured_all_the_same(ticks: int) -> None:
    unedited = edited(audio(MP4, 2), TRAK, lambda inside: inside.replace(b"edts", b"free"))
    forged = edited(unedited, STTS, lambda _: struct.pack(">IIII", 0, 1, 88, ticks))
    assert 2000 <= milliseconds(forged, MP4) <= 2000 + 2 * PACKET_MILLISECONDS


@pytest.mark.parametrize("frames", [0, 1, 10**6, 2**32 - 1])
def test_an_mp3_that_lies_about_its_frames_is_measured_all_the_same(frames: int) -> None:
    content = audio(MP3)
    at = content.index(b"Info") + 8
    assert 1000 <= milliseconds(content[:at] + struct.pack(">I", frames) + content[at + 4 :], MP3) <= 1060


def test_an_mp3_whose_rate_changes_is_measured_frame_by_frame() -> None:
    high, low = packets(audio(MP3)), packets(audio(LOW_MP3))
    heard = 1000 * (len(high) * Fraction(1152, 44100) + len(low) * Fraction(576, 8000))
    assert milliseconds(b"".join(high + low), MP3) == math.ceil(heard) > 2000


@pytest.mark.parametrize("gap", [10, 10**6, 10**9])
def test_a_jump_in_time_is_not_heard(gap: int) -> None:
    content = audio(WEBM)
    some = packets(content)
    forged = muxed(content, "webm", [(packet, gap * (at >= 25)) for at, packet in enumerate(some)])
    assert 20 * len(some) - 10 <= milliseconds(forged, WEBM) <= 20 * len(some)


def test_the_longest_of_several_streams_counts() -> None:
    short, long = audio(MP4, 0.5), audio(M4A, 3)
    assert milliseconds(both("mp4", short, long), MP4) == milliseconds(both("mp4", long, short), MP4) == 3000


def test_a_packet_that_hides_many_frames_is_refused() -> None:
    content = audio(M4A, 3)
    some = packets(content)
    packed = in_mp4(content, [b"".join(some[at : at + 10]) for at in range(0, len(some), 10)])
    assert decoded_milliseconds(packed) > 3000
    assert measured(packed, M4A) == "unmeasurable"


def test_a_few_packets_among_many_that_hide_frames_are_found_too() -> None:
    content = audio(M4A)
    some = packets(content)[1:-1] * 150
    hiding = [b"".join(some[:10]) if at % 20 == 7 else packet for at, packet in enumerate(some)]
    assert milliseconds(in_mp4(content, some), M4A) > 140_000
    assert measured(in_mp4(content, hiding[:500]), M4A) == "unmeasurable"
    assert measured(in_mp4(content, some + hiding), M4A) == "unmeasurable"


def in_mp4(like: bytes, some: list[bytes]) -> bytes:
    return muxed(like, "mp4", [(packet, at) for at, packet in enumerate(some)])


def test_a_second_description_of_the_samples_is_refused() -> None:
    def described_twice(inside: bytes) -> bytes:
        ((kind, entry),) = boxes(inside[8:])
        return inside[:4] + struct.pack(">I", 2) + box(kind, entry) + box(kind, entry.replace(b"\x12\x08", b"\x15\x88"))

    def in_two_chunks(inside: bytes) -> bytes:
        (offset,) = struct.unpack_from(">I", inside, 8)
        return struct.pack(">IIII", 0, 2, offset, offset + sum(map(len, some[:20])))

    content = audio(MP4)
    some = packets(content)
    chunks = edited(edited(content, STSD, described_twice), STCO, in_two_chunks)
    once = edited(chunks, STSC, lambda _: struct.pack(">8I", 0, 2, 1, 20, 1, 2, len(some) - 20, 1))
    twice = edited(chunks, STSC, lambda _: struct.pack(">8I", 0, 2, 1, 20, 1, 2, len(some) - 20, 2))
    assert milliseconds(once, MP4) == 1000
    assert measured(twice, MP4) == "unmeasurable"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.mp3", WAV),
        ("a.mpga", MPEG),
        ("a.mpeg", MP4),
        ("a.mp4", WEBM),
        ("a.m4a", MP3),
        ("a.wav", MP3),
        ("a.webm", M4A),
        ("a.mp3", Kind("aac", "adts", "aac")),
        ("a.webm", Kind("ogg", "ogg", "libopus", rate=48000)),
        ("a.wav", Kind("flac", "flac", "flac")),
    ],
)
def test_content_of_another_kind_than_the_name_says_is_refused(name: str, kind: Kind) -> None:
    assert measure(io.BytesIO(audio(kind)), DEMUXERS[name.partition(".")[2]]) == "not_audio"


@pytest.mark.parametrize(
    "kind",
    [
        Kind("webm", "matroska", "flac"),
        Kind("webm", "matroska", "libmp3lame"),
        Kind("mp4", "mp4", "ac3"),
        Kind("mpeg", "mpeg", "ac3"),
    ],
    ids=lambda kind: f"{kind.codec} in {kind.container}",
)
def test_audio_whose_packets_tell_nothing_is_refused(kind: Kind) -> None:
    assert measured(audio(kind), kind) == "unmeasurable"


def test_names_and_containers_are_told() -> None:
    told = {kind.ending: measured(audio(kind), kind).split()[2] for kind in (MP3, MPEG, FRAGMENTS, M4A, WAV, VORBIS)}
    assert told == {"mp3": "mp3", "mpeg": "mpeg", "mp4": "mov", "m4a": "mov", "wav": "wav", "webm": "matroska"}
