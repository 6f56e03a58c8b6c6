"""Proofs: each shows that something holds, and prints its figures as the last line.

A proof is a module, or a package with `__main__`: `python -m proofs.attacks --size small`. What several of them use is
in `proofs.rig`; they do not use each other.
"""

from pathlib import Path


def names() -> list[str]:
    """Every proof there is."""
    folder = Path(__file__).parent
    modules = {file.stem for file in folder.glob("[a-z]*.py")}
    return sorted(modules | {file.parent.name for file in folder.glob("[a-z]*/__main__.py")})
