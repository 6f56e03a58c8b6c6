"""Children measure files for their parent, and no file and no accident gets any further than to a child."""

import asyncio
import gzip
import io
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.media.audio import (
    FRAGMENTS,
    KINDS,
    M4A,
    MP3,
    MP4,
    WAV,
    WEBM,
    Kind,
    audio,
    with_pictures,
)
from tests.media.boxes import STSZ, box, edited
from tollkeeper.core.errors import InvalidParameter, TooMuchToMeasure, Unavailable
from tollkeeper.media.lengths import DEMUXERS, AudioLength, ProcessAudioLengths

pytestmark = pytest.mark.not_quick

GOOD = audio(MP3)
# Enough on a machine that has other things to do.
PATIENT_SECONDS = 60


@pytest.fixture
async def lengths() -> AsyncIterator[ProcessAudioLengths]:
    made = ProcessAudioLengths(children=1, seconds_most=PATIENT_SECONDS)
    yield made
    await made.close()


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[ProcessAudioLengths]:
    """For tests that leave its child as it was."""
    made = ProcessAudioLengths(children=1, seconds_most=PATIENT_SECONDS)
    yield made
    await made.close()


@pytest.fixture
async def hasty() -> AsyncIterator[ProcessAudioLengths]:
    made = ProcessAudioLengths(children=1, seconds_most=2, waiting_most=1)
    yield made
    await made.close()


async def child_of(lengths: ProcessAudioLengths) -> int:
    """The process that waits for the next file."""
    await lengths.measure(GOOD, "good.mp3")
    return lengths._idle[0].process.pid


async def taken(lengths: ProcessAudioLengths) -> None:
    """Until the child that waited has a file."""
    while lengths._idle:  # noqa: ASYNC110 (it is taken without a word)
        await asyncio.sleep(0)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
async def test_every_kind_is_measured(shared: ProcessAudioLengths, kind: Kind) -> None:
    length = await shared.measure(bytearray(audio(kind, 2)), f"Some.Name.{kind.ending.upper()}")
    assert 2000 <= length.milliseconds <= 2100
    assert length.format in DEMUXERS[kind.ending]


@pytest.mark.parametrize("name", ["a.ogg", "a.flac", "a.exe", "mp3", "a.mp3.zip", "a.", "", "a.mp3/b"])
async def test_other_endings_are_refused_without_a_look(lengths: ProcessAudioLengths, name: str) -> None:
    with pytest.raises(InvalidParameter, match="ends in one of mp3, mp4"):
        await lengths.measure(GOOD, name)
    assert not lengths._idle


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.mp3", content)
    return file.getvalue()


def compressed_movie(size_bytes: int, said_bytes: int) -> bytes:
    """A header that is small while it is compressed."""
    inside = struct.pack(">I", said_bytes) + zlib.compress(bytes(size_bytes), 1)
    return box("ftyp", b"qt  " + bytes(4)) + box("moov", box("cmov", box("dcom", b"zlib") + box("cmvd", inside)))


def hours_of_opus(hours: int, packet_milliseconds: int) -> bytes:
    """The same half minute over and over, at the same time each time."""
    kind = Kind(
        "webm",
        "webm",
        "libopus",
        rate=48000,
        codec_options={"frame_duration": str(packet_milliseconds), "b": "6000"},
        container_options={"live": "1", "cluster_time_limit": "32000", "cluster_size_limit": "5000000"},
    )
    content = audio(kind, 30, silent=True)
    cluster = content.index(bytes.fromhex("1f43b675"))
    assert content.count(bytes.fromhex("1f43b675")) == 1
    return content[:cluster] + content[cluster:] * (hours * 120)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "one byte": lambda: b"\xff",
    "text": lambda: b"No sound at all.\n" * 1000,
    "zeros": lambda: bytes(100_000),
    "noise": lambda: random.Random(7).randbytes(100_000),  # noqa: S311 (the same noise each time)
    "zip": lambda: zipped(GOOD),
    "gzip": lambda: gzip.compress(GOOD),
    "a program": lambda: Path(sys.executable).read_bytes()[:200_000],
    "mp3 in an archive": lambda: b"7z\xbc\xaf\x27\x1c" + GOOD,
    "a page": lambda: b"<!DOCTYPE html><html><body><audio src=a.mp3></body></html>",
    "ffconcat": lambda: b"ffconcat version 1.0\nfile /proc/self/environ\nfile /etc/passwd\n",
    "a compressed header": lambda: compressed_movie(100_000_000, 100_000_000),
    "a compressed header of 2 GB": lambda: compressed_movie(1000, 2_000_000_000),
    "an index without end": lambda: edited(audio(MP4), STSZ, lambda _: struct.pack(">III", 0, 1, 2**31 - 1)),
    "a tag without end": lambda: b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + bytes(100_000),
    "boxes in boxes": lambda: box("ftyp", b"isom" + bytes(4)) + struct.pack(">I4s", 2**31, b"moov") * 50_000,
    "a wav of 65,535 channels": lambda: (w := audio(WAV, 0.1))[:22] + b"\xff\xff" + w[24:],
    "a wav without a rate": lambda: (w := audio(WAV, 0.1))[:24] + bytes(4) + w[28:],
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
async def test_what_is_no_audio_is_refused_under_every_name(
    shared: ProcessAudioLengths, make: Callable[[], bytes]
) -> None:
    content = make()
    before = await child_of(shared)
    for ending in DEMUXERS:
        with pytest.raises(InvalidParameter) as refused:
            await shared.measure(content, f"a.{ending}")
        assert refused.value.param == "file"
        assert refused.value.status == 400
    assert await child_of(shared) == before


async def test_playlists_and_references_open_nothing(lengths: ProcessAudioLengths) -> None:
    called: list[object] = []
    server = await asyncio.start_server(lambda *_: called.append(1), "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a.mp3"
    playlists = [
        f"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{address}\n#EXT-X-ENDLIST\n",
        f"ffconcat version 1.0\nfile {address}\n",
        f"<MPD><Period><BaseURL>{address}</BaseURL></Period></MPD>",
        f"v=0\nc=IN IP4 127.0.0.1\nm=audio {server.sockets[0].getsockname()[1]} RTP/AVP 0\n",
    ]
    for playlist in playlists:
        for ending in DEMUXERS:
            with pytest.raises(InvalidParameter):
                await lengths.measure(playlist.encode(), f"a.{ending}")
    server.close()
    await server.wait_closed()
    assert not called


async def test_pictures_beside_the_sound_are_not_decoded(lengths: ProcessAudioLengths) -> None:
    content = with_pictures(audio(MP4), 12_000)
    assert len(content) < 5_000_000
    assert (await lengths.measure(content, "a.mp4")).milliseconds == 1000
    assert peak_bytes(await child_of(lengths)) < 128 * 1024 * 1024


async def test_ten_silent_hours_are_measured(lengths: ProcessAudioLengths) -> None:
    content = hours_of_opus(10, 120)
    assert len(content) < 25 * 1024 * 1024
    begun = time.perf_counter()
    length = await lengths.measure(content, "a.webm")
    print(f"size_bytes={len(content)} seconds={time.perf_counter() - begun:.2f}")
    assert length.milliseconds == pytest.approx(36_000_000, rel=0.01)


async def test_what_takes_too_long_is_refused_and_its_child_is_gone(hasty: ProcessAudioLengths) -> None:
    before = await child_of(hasty)
    with pytest.raises(InvalidParameter, match="could not be read in time"):
        await hasty.measure(hours_of_opus(40, 20), "a.webm")
    assert await child_of(hasty) != before
    await hasty.close()
    assert not is_there(before)


async def test_a_child_that_hangs_is_killed_and_its_caller_told(hasty: ProcessAudioLengths) -> None:
    before = await child_of(hasty)
    os.kill(before, signal.SIGSTOP)
    with pytest.raises(InvalidParameter, match="could not be read in time"):
        await hasty.measure(GOOD, "good.mp3")
    assert await hasty.measure(GOOD, "good.mp3") == AudioLength(1000, "mp3")
    await hasty.close()
    assert not is_there(before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_child_that_died_is_replaced_unnoticed(lengths: ProcessAudioLengths, number: int) -> None:
    before = await child_of(lengths)
    os.kill(before, number)
    assert await lengths.measure(GOOD, "good.mp3") == AudioLength(1000, "mp3")
    assert await child_of(lengths) != before


async def test_a_child_that_dies_over_a_file_is_replaced_and_the_file_tried_again(lengths: ProcessAudioLengths) -> None:
    before = await child_of(lengths)
    os.kill(before, signal.SIGSTOP)
    asked = asyncio.create_task(lengths.measure(GOOD, "good.mp3"))
    await taken(lengths)
    os.kill(before, signal.SIGKILL)
    assert await asked == AudioLength(1000, "mp3")


async def test_nobody_gets_the_answer_to_the_file_of_a_caller_who_left(lengths: ProcessAudioLengths) -> None:
    before = await child_of(lengths)
    os.kill(before, signal.SIGSTOP)
    left = asyncio.create_task(lengths.measure(audio(WAV, 3), "long.wav"))
    await taken(lengths)
    left.cancel()
    os.kill(before, signal.SIGCONT)
    assert await lengths.measure(GOOD, "good.mp3") == AudioLength(1000, "mp3")
    assert left.cancelled()
    assert await child_of(lengths) != before


async def test_a_caller_who_leaves_while_waiting_gives_up_the_place(hasty: ProcessAudioLengths) -> None:
    os.kill(await child_of(hasty), signal.SIGSTOP)
    first = asyncio.create_task(hasty.measure(GOOD, "good.mp3"))
    await asyncio.sleep(0)
    second = asyncio.create_task(hasty.measure(GOOD, "good.mp3"))
    await asyncio.sleep(0)
    with pytest.raises(TooMuchToMeasure):
        await hasty.measure(GOOD, "good.mp3")
    second.cancel()
    await asyncio.sleep(0)
    assert hasty._waiting == 0
    with pytest.raises(InvalidParameter):
        await first
    assert (await hasty.measure(GOOD, "good.mp3")).milliseconds == 1000


async def test_more_than_may_wait_are_refused_at_once(hasty: ProcessAudioLengths) -> None:
    os.kill(await child_of(hasty), signal.SIGSTOP)
    asked = [asyncio.create_task(hasty.measure(GOOD, "good.mp3")) for _ in range(5)]
    told = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in told[2:]] == [TooMuchToMeasure] * 3
    assert isinstance(told[0], InvalidParameter)
    assert issubclass(TooMuchToMeasure, Unavailable)


async def test_many_at_once_each_get_their_own_answer() -> None:
    lengths = ProcessAudioLengths(children=2, seconds_most=PATIENT_SECONDS, waiting_most=100)
    files = [audio(MP4, 1 + number / 10) for number in range(10)]
    told = await asyncio.gather(*(lengths.measure(file, "a.m4a") for file in files))
    assert [length.milliseconds for length in told] == [1000 + 100 * number for number in range(10)]
    assert len(lengths._idle) == 2
    await lengths.close()


async def test_a_hundred_hostile_files_leave_this_process_as_it_was(lengths: ProcessAudioLengths) -> None:
    hostile = [make() for make in HOSTILE.values()]
    endings, chance = list(DEMUXERS), random.Random(1)  # noqa: S311 (likewise)
    good = {ending: audio(kind) for kind in (MP3, MP4, M4A, WAV, WEBM, FRAGMENTS) for ending in [kind.ending]}
    await child_of(lengths)
    before = resident_bytes(os.getpid())
    for _ in range(100):
        with pytest.raises(InvalidParameter):
            await lengths.measure(chance.choice(hostile), f"a.{chance.choice(endings)}")
        ending = chance.choice(list(good))
        assert 1000 <= (await lengths.measure(good[ending], f"a.{ending}")).milliseconds <= 1100
    grown, child = resident_bytes(os.getpid()) - before, resident_bytes(await child_of(lengths))
    print(f"grown_bytes={grown} child_bytes={child}")
    assert grown < 8 * 1024 * 1024
    assert child < 128 * 1024 * 1024


async def test_a_child_has_little_to_lose(lengths: ProcessAudioLengths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOLLKEEPER_PEPPERS", "secret")
    folder = Path(f"/proc/{await child_of(lengths)}")
    assert b"secret" not in (folder / "environ").read_bytes()
    limits = {line[:26].strip(): line[26:47].strip() for line in (folder / "limits").read_text().splitlines()}
    assert limits["Max address space"] == str(512 * 1024 * 1024)
    assert limits["Max open files"] == "4"
    assert limits["Max file size"] == limits["Max core file size"] == limits["Max processes"] == "0"
    assert len(list((folder / "fd").iterdir())) == 3
    print(f"idle_bytes={resident_bytes(int(folder.name))}")


async def test_children_end_with_their_parent() -> None:
    lengths = ProcessAudioLengths(children=1, seconds_most=PATIENT_SECONDS)
    await child_of(lengths)
    child = lengths._idle.pop()
    child._connection.close()
    assert await asyncio.wait_for(child.process.wait(), PATIENT_SECONDS) == 0


def test_the_gateway_itself_never_loads_the_library() -> None:
    program = "import sys, tollkeeper.app, tollkeeper.media.lengths; sys.exit('av' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
