"""A hundred uploads that mean no good: cut off, lying, swollen, or something else altogether.

Rules of this file
1. A file is the same from the same seed.
2. Whatever a node makes of it is right as long as it answers in time; what it must never do is open something else.
"""

import struct
from collections.abc import Callable, Iterator
from random import Random

import msgspec

from proofs.media.damage import (
    CLUSTER,
    FILE_TYPE,
    MEGABYTE,
    box,
    cut,
    good,
    gzip_bomb,
    hours_of_silence,
    random_frames,
    smallest_frames,
    squeezed_header,
    turned,
    wav,
    with_largest,
    with_remarks,
    zipped,
)
from proofs.media.sounds import M4A, MP3, MP4, TYPES, WAV, WEBM, Kind

Content = Callable[[Random], bytes]

BOMB_BYTES = 100 * MEGABYTE


class Upload(msgspec.Struct, frozen=True):
    """A file whose name ends in `ending`."""

    name: str
    ending: str
    content: Content


def hundred(canary: str) -> list[Upload]:
    """All of them; `canary` is an address that nobody may call."""
    every = [Upload(f"{kind.ending}: {name}", kind.ending, made) for kind in TYPES for name, made in damaged(kind)]
    every += [Upload(name, ending, made) for name, (ending, made) in OTHERS.items()]
    every += [Upload(f"a playlist, {name}", ending, text) for name, ending, text in playlists(canary)]
    assert len(every) == 100, len(every)
    return every


def damaged(kind: Kind) -> Iterator[tuple[str, Content]]:
    other = TYPES[TYPES.index(kind) - 1]
    yield "nothing", lambda _: b""
    yield "random bytes", lambda chance: chance.randbytes(chance.randrange(1, MEGABYTE))
    yield "zeros", lambda _: bytes(MEGABYTE)
    yield "a good beginning, then random bytes", lambda chance: good(kind)[:200] + chance.randbytes(100_000)
    yield "cut off early", lambda chance: cut(good(kind), chance, 0.0, 0.2)
    yield "cut off late", lambda chance: cut(good(kind), chance, 0.8, 1.0)
    yield "a few bits turned", lambda chance: turned(good(kind), chance, 20)
    yield "many bits turned", lambda chance: turned(good(kind), chance, 2_000)
    yield f"in truth {other.ending}", lambda _: good(other)


def playlists(canary: str) -> Iterator[tuple[str, str, Content]]:
    """What leads elsewhere, where it is believed."""
    hls = "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{}\n#EXT-X-ENDLIST\n"
    port = canary.rpartition(":")[2].partition("/")[0]
    for name, ending, text in (
        ("m3u8", "mp4", hls.format(canary)),
        ("m3u8 of a file", "mpeg", hls.format("file:///etc/passwd")),
        ("concat", "mp3", f"ffconcat version 1.0\nfile {canary}\nfile /etc/passwd\n"),
        ("pls", "mpga", f"[playlist]\nFile1={canary}\nNumberOfEntries=1\n"),
        ("mpd", "webm", f'<?xml version="1.0"?><MPD><Period><BaseURL>{canary}</BaseURL></Period></MPD>'),
        ("sdp", "m4a", f"v=0\nc=IN IP4 127.0.0.1\nm=audio {port} RTP/AVP 0\n"),
    ):
        yield name, ending, as_bytes(text)


def as_bytes(text: str) -> Content:
    return lambda _: text.encode()


OTHERS: dict[str, tuple[str, Content]] = {
    "a zip with an mp3": ("mp3", lambda _: zipped(good(MP3))),
    "a zip bomb": ("mpeg", lambda _: zipped(bytes(BOMB_BYTES))),
    "a gzip bomb": ("wav", lambda _: gzip_bomb(BOMB_BYTES)),
    "a gzip bomb in another": ("mp4", lambda _: gzip_bomb(BOMB_BYTES, layers=2)),
    "an mp3 behind an archive's mark": ("mp3", lambda _: b"7z\xbc\xaf\x27\x1c" + good(MP3)),
    "wav: says more data than there is": ("wav", lambda _: wav(bytes(16_000), said=2**32 - 1)),
    "wav: says less data than there is": ("wav", lambda _: wav(bytes(16_000), said=2)),
    "wav: no rate": ("wav", lambda _: wav(bytes(16_000), rate=0)),
    "wav: one sample a second": ("wav", lambda _: wav(bytes(2 * MEGABYTE), rate=1)),
    "wav: four billion samples a second": ("wav", lambda _: wav(bytes(16_000), rate=2**32 - 1)),
    "wav: no channels": ("wav", lambda _: wav(bytes(16_000), channels=0)),
    "wav: 65,535 channels": ("wav", lambda _: wav(bytes(16_000), channels=65_535)),
    "wav: no bits": ("wav", lambda _: wav(bytes(16_000), bits=0)),
    "wav: remarks of 20 MB": ("wav", lambda _: with_remarks(good(WAV), bytes(20 * MEGABYTE))),
    "mp4: boxes in boxes": ("mp4", lambda _: FILE_TYPE + struct.pack(">I4s", 2**31, b"moov") * 50_000),
    "mp4: boxes up to the end": ("mp4", lambda _: FILE_TYPE + struct.pack(">I4s", 0, b"moov") * 50_000),
    "mp4: a header that swells": ("mp4", lambda _: squeezed_header(BOMB_BYTES)),
    "mp4: four billion samples": ("mp4", lambda _: with_largest(good(MP4), b"stsz", 8)),
    "m4a: samples that last for ever": ("m4a", lambda _: with_largest(good(M4A), b"stts", 12)),
    "m4a: one chunk for all": ("m4a", lambda _: with_largest(good(M4A), b"stsc", 12)),
    "m4a: remarks of 20 MB": ("m4a", lambda _: good(M4A) + box(b"udta", box(b"meta", bytes(20 * MEGABYTE)))),
    "webm: ten silent hours": ("webm", lambda _: hours_of_silence(10, packet_milliseconds=120)),
    "webm: ten silent hours in short packets": ("webm", lambda _: hours_of_silence(10, packet_milliseconds=60)),
    "webm: a silent day": ("webm", lambda _: hours_of_silence(24, packet_milliseconds=120)),
    "webm: elements in elements": ("webm", lambda _: good(WEBM)[:64] + (CLUSTER + b"\x01" + b"\xff" * 7) * 50_000),
    "mp3: a tag of 20 MB": ("mp3", lambda _: b"ID3\x04\x00\x00\x0a\x00\x00\x00" + bytes(20 * MEGABYTE) + good(MP3)),
    "mp3: a tag without end": ("mp3", lambda _: b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + bytes(MEGABYTE)),
    "mp3: 25 MB of the smallest frames": ("mp3", lambda _: smallest_frames(25 * MEGABYTE)),
    "mpga: 25 MB of frames of all kinds": ("mpga", lambda chance: random_frames(25 * MEGABYTE, chance)),
    "mpeg: 25 MB of random bytes": ("mpeg", lambda chance: chance.randbytes(25 * MEGABYTE)),
    "a page": ("mpga", lambda _: b"<!DOCTYPE html><html><body><audio src=sound.mp3></body></html>"),
}

# What is to be heard in some of them, whatever they say: who is served, pays for that.
SECONDS_LEAST = {
    "webm: ten silent hours": 36_000,
    "webm: ten silent hours in short packets": 36_000,
    "webm: a silent day": 86_400,
    "mp3: 25 MB of the smallest frames": 26_214,
}
