"""Holds for any bytes, and takes no time."""

from tests.tools.fuzz.planted import SEEDS, pass_by
from tools.fuzz.target import Grown, Target

TARGET = Target(check=pass_by, work=pass_by, seeds=SEEDS, grown=[Grown(b"x")], size_bytes_most=1_000)
