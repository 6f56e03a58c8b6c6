"""What the database does not take, in words."""

import asyncpg
import pytest

from tollkeeper.storage.postgres.out_of_range import out_of_range


def refused(table: str | None, constraint: str | None) -> str:
    problem = asyncpg.CheckViolationError("new row violates")
    problem.table_name, problem.constraint_name = table, constraint
    return out_of_range(problem)


@pytest.mark.parametrize(
    ("table", "constraint", "told"),
    [
        ("model", "model_id_check", "A model's id has 1 to 128 letters"),
        ("provider_account", "provider_account_name_check", "A provider account's name has 1 to 64"),
        ("provider_account", "provider_account_weight_check1", "It does not take the weight of a provider account"),
        ("withdrawal", "num_nulls_ok", "It does not take a value like that."),
        (None, None, "It does not take a value like that."),
    ],
)
def test_a_value_out_of_its_range_is_told_in_words(table: str | None, constraint: str | None, told: str) -> None:
    said = refused(table, constraint)
    assert said.startswith(f"Nothing was changed: the database refused. {told}")
    assert "_" not in said.replace(". _", "")
