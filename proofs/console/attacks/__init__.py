"""Attacks on the console, and how many of them came to nothing."""

import msgspec

from proofs.rig.proof import say


class Tally(msgspec.Struct):
    tried: int = 0
    refused: int = 0

    def judge(self, attack: str, refused: bool, detail: object = "") -> None:
        self.tried += 1
        self.refused += refused
        if not refused:
            say(f"FAILED {attack}: {str(detail)[:300]}")

    def __str__(self) -> str:
        return f"{self.refused}/{self.tried}"
