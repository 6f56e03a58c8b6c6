"""Packets last as long as a decoder hears them."""

from fractions import Fraction

import pytest

from tollkeeper.media.packets import (
    MpegAudio,
    Opus,
    Samples,
    Unmeasurable,
    Vorbis,
    aac_packet_seconds,
    alac_packet_seconds,
    mpeg_frame_seconds,
    opus_packet_seconds,
)


@pytest.mark.parametrize(
    ("head", "seconds"),
    [
        pytest.param("fffb90", Fraction(1152, 44100), id="MPEG 1, layer III"),
        pytest.param("fffd94", Fraction(1152, 48000), id="MPEG 1, layer II"),
        pytest.param("ffff98", Fraction(384, 32000), id="MPEG 1, layer I"),
        pytest.param("fff314", Fraction(576, 24000), id="MPEG 2, layer III"),
        pytest.param("ffe318", Fraction(576, 8000), id="MPEG 2.5, layer III"),
        pytest.param("fffb9c", Fraction(), id="no such rate"),
        pytest.param("ffeb90", Fraction(), id="no such version"),
        pytest.param("fff990", Fraction(), id="no such layer"),
        pytest.param("000000", Fraction(), id="no header"),
        pytest.param("fffb", Fraction(), id="too short"),
    ],
)
def test_a_frame_of_mpeg_audio_lasts_as_its_own_header_says(head: str, seconds: Fraction) -> None:
    assert mpeg_frame_seconds(bytes.fromhex(head)) == seconds


def test_frames_of_different_rates_are_added_up_exactly() -> None:
    count = MpegAudio()
    for packet in [b"\xff\xfb\x90\x00...", b"\xff\xe3\x18\x00...", b"\0\0\0\xff\xfb\x90\x00...", b"no frame"]:
        count.take(packet)
    assert count.seconds() == 2 * Fraction(1152, 44100) + Fraction(576, 8000)


@pytest.mark.parametrize(
    ("head", "milliseconds"),
    [
        pytest.param([0 << 3], 10, id="silk, 10 ms"),
        pytest.param([3 << 3], 60, id="silk, 60 ms"),
        pytest.param([3 << 3 | 1], 120, id="two frames of 60 ms"),
        pytest.param([13 << 3 | 2], 40, id="hybrid, two frames"),
        pytest.param([16 << 3], Fraction(5, 2), id="celt, 2.5 ms"),
        pytest.param([31 << 3], 20, id="celt, 20 ms"),
        pytest.param([31 << 3 | 3, 0b11000110], 120, id="six frames"),
        pytest.param([31 << 3 | 3, 7], 0, id="longer than a packet may be"),
        pytest.param([31 << 3 | 3], 0, id="no count of frames"),
        pytest.param([], 0, id="nothing"),
    ],
)
def test_a_packet_of_opus_lasts_as_its_table_of_contents_says(head: list[int], milliseconds: int) -> None:
    count = Opus()
    count.take(bytes(head))
    assert count.seconds() == opus_packet_seconds(bytes(head)) == Fraction(milliseconds, 1000)


@pytest.mark.parametrize(
    ("configuration", "seconds"),
    [
        pytest.param("1208", Fraction(1024, 44100), id="LC"),
        pytest.param("120c", Fraction(960, 44100), id="frames of 960"),
        pytest.param("2b92 0800", Fraction(1024, 22050), id="HE, counted at the rate of its core"),
        pytest.param("eb09 8800", Fraction(1024, 24000), id="HE v2"),
        pytest.param("1780 1770 08", Fraction(1024, 12000), id="a rate of its own"),
    ],
)
def test_a_packet_of_aac_lasts_as_its_configuration_says(configuration: str, seconds: Fraction) -> None:
    assert aac_packet_seconds(bytes.fromhex(configuration)) == seconds


@pytest.mark.parametrize(
    "configuration",
    ["", "12", "f9409000", "1e90", "b98a", "178000 00 08"],
    ids=["nothing", "cut", "USAC", "no such rate", "low delay", "a rate of 0"],
)
def test_aac_of_another_kind_is_not_measured(configuration: str) -> None:
    with pytest.raises(Unmeasurable):
        aac_packet_seconds(bytes.fromhex(configuration))


def test_alac_needs_its_cookie() -> None:
    cookie = bytes(12) + (4096).to_bytes(4, "big") + bytes(16) + (44100).to_bytes(4, "big")
    assert alac_packet_seconds(cookie) == Fraction(4096, 44100)
    for broken in (b"", cookie[:-1], bytes(36)):
        with pytest.raises(Unmeasurable):
            alac_packet_seconds(broken)


def test_plain_samples_are_counted_by_their_bytes() -> None:
    count = Samples(sample_bytes=6, rate=8000)
    count.take(bytes(6 * 8000))
    count.take(bytes(5))
    assert count.seconds() == 1
    for sample_bytes, rate in ((0, 8000), (2, 0)):
        with pytest.raises(Unmeasurable):
            Samples(sample_bytes=sample_bytes, rate=rate)


def vorbis_headers(*flags: int, rate: int = 48000, sizes: int = 0xB8) -> bytes:
    """Three headers in one: their modes have long blocks (2048) or short ones (256)."""
    identification = b"\x01vorbis" + bytes(4) + b"\x02" + rate.to_bytes(4, "little") + bytes(12) + bytes([sizes, 1])
    bits, at = 0b101 << 200, 203
    bits |= len(flags) - 1 << at
    at += 6
    for flag in flags:
        bits |= flag << at
        at += 41
    bits |= 1 << at
    setup = b"\x05vorbis" + bits.to_bytes(at // 8 + 1, "little")
    comment = b"\x03vorbis" + bytes(300)
    return b"\x02" + bytes([len(identification), 255, len(comment) - 255]) + identification + comment + setup


def test_blocks_of_vorbis_overlap_by_half() -> None:
    count = Vorbis(vorbis_headers(0, 1))
    assert count.seconds() == 0
    for first_byte in (0b00, 0b10, 0b10, 0b00):
        count.take(bytes([first_byte, 0]))
    samples = (256 + 2048) // 4 + (2048 + 2048) // 4 + (2048 + 256) // 4
    assert count.seconds() == Fraction(samples, 48000)


def test_packets_that_are_no_blocks_of_vorbis_last_nothing() -> None:
    count = Vorbis(vorbis_headers(1, 0, 1))
    for first_byte in (0b000, 0b110, 0b001, 0b010):
        count.take(bytes([first_byte]))
    assert count.seconds() == Fraction((2 * (2048 + 256) - 2048 - 256), 4 * 48000)


@pytest.mark.parametrize(
    "headers",
    [
        b"",
        b"\x02",
        b"\x02\xff\xff\xff",
        vorbis_headers(0, 1)[:-20],
        vorbis_headers(1, rate=0),
        b"\x01" + vorbis_headers(1)[1:],
    ],
    ids=["nothing", "cut", "sizes without end", "no modes", "no rate", "not three"],
)
def test_vorbis_without_its_headers_is_not_measured(headers: bytes) -> None:
    with pytest.raises(Unmeasurable):
        Vorbis(headers)
