"""Takes longer than it should for a large input, and raises nothing."""

from tests.tools.fuzz.planted import SEEDS, pass_by, think
from tools.fuzz.target import Grown, Target

TARGET = Target(check=pass_by, work=think, seeds=SEEDS, grown=[Grown(b"x")], size_bytes_most=20_000)
