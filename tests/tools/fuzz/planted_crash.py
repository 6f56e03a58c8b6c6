"""Raises for inputs that must be searched for."""

from tests.tools.fuzz.planted import SEEDS, crash, pass_by
from tools.fuzz.target import Target

TARGET = Target(check=crash, work=pass_by, seeds=SEEDS, size_bytes_most=1_000)
