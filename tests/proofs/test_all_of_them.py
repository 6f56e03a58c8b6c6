"""All proofs in one go."""

import pytest

from proofs import names
from proofs.__main__ import ALONE, LONGEST, Runs, told


def test_those_that_run_alone_or_first_are_there() -> None:
    assert set(names()) > {*ALONE, *LONGEST}


@pytest.mark.not_quick
def test_after_one_that_failed_none_is_begun(capfd: pytest.CaptureFixture[str]) -> None:
    runs = Runs("small")
    for proof in ("of_nothing", "of_something_else"):
        runs.run(proof)
    printed = capfd.readouterr().out
    assert runs.failed == ["of_nothing"]
    assert "== prove-of_nothing: FAILED" in printed
    assert "No module named proofs.of_nothing" in printed
    assert "of_something_else" not in printed


def test_what_a_proof_said_is_cut_to_its_figures_where_it_held() -> None:
    said = "on the way\nfigure=1\n"
    assert told(said, held=True) == "figure=1"
    assert told(said, held=False) == said
