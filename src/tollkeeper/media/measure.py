"""The program that measures audio files: one at a time, for the process that started it (`media/lengths`).

A file comes as a descriptor over the socket that is standard input, with the names of the demuxers that may read it.
The answer is a line: `ok MILLISECONDS DEMUXER`, or one word that says why not.

Files are hostile. Before the first one this process gives up what it can do without: memory, files, its priority.
"""

import math
import os
import resource
import signal
import socket
import wave
from contextlib import suppress
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.media.packets import Unmeasurable
from tollkeeper.media.streams import NOT_READ, length

MEMORY_BYTES_MOST = 512 * 1024 * 1024
# Standard input, output and errors, and the file that is measured.
DESCRIPTORS_MOST = 4
REQUEST_BYTES_MOST = 256
# After so long nobody waits for an answer; whoever did has died, or would have killed this process before.
ABANDONED_SECONDS = 120
# How archives and programs begin. One may hold an mp3 just as it is, and a demuxer would find it there.
NO_AUDIO = (b"PK", b"Rar!", b"7z", b"\x1f\x8b", b"BZh", b"\x7fELF", b"MZ", b"%PDF")


def measure(file: BinaryIO, demuxers: str) -> str:
    """Answer for one file."""
    # It comes as it was left, at its end.
    file.seek(0)
    begins = file.read(4)
    file.seek(0)
    if begins.startswith(NO_AUDIO):
        return "not_audio"
    try:
        seconds, container = length(file, demuxers)
    except Unmeasurable:
        return "unmeasurable"
    except NOT_READ:
        return "not_audio"
    return f"ok {math.ceil(seconds * 1000)} {container}" if seconds else "not_audio"


def rehearse() -> None:
    """Measure a moment of silence. The library loads parts of itself with the first file, and could not later on."""
    file = BytesIO()
    with wave.open(file, "wb") as silence:
        silence.setparams((1, 2, 8000, 0, "NONE", ""))
        silence.writeframes(bytes(1600))
    measure(file, "wav")


def give_up_what_is_not_needed() -> None:
    # Whoever started this process ends it, by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(5)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    for limit, most in {
        resource.RLIMIT_AS: MEMORY_BYTES_MOST,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: DESCRIPTORS_MOST,
        resource.RLIMIT_NPROC: 0,
    }.items():
        resource.setrlimit(limit, (most, most))
    # Last: from then on /proc/self is root's, and oom_score_adj could not be written any more.
    forbid_core_dumps()


def main() -> None:
    rehearse()
    give_up_what_is_not_needed()
    with socket.socket(fileno=0) as parent:
        parent.send(b"ready")
        while True:
            demuxers, descriptors, _, _ = socket.recv_fds(parent, REQUEST_BYTES_MOST, 1)
            if not demuxers:
                return
            signal.alarm(ABANDONED_SECONDS)
            with FileIO(descriptors[0]) as file:
                answer = measure(file, demuxers.decode())
            signal.alarm(0)
            parent.send(answer.encode())


if __name__ == "__main__":
    main()
