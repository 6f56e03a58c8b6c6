"""Names of types: one name stands for one type, in all of the product. The simulator's are the vendors' own."""

import ast
from pathlib import Path

from tools.shape import doubled_names, tree_of, types_in

SOURCE = Path(__file__).parents[2] / "src" / "tollkeeper"
FILES = sorted(SOURCE.rglob("*.py"))


def test_no_two_types_have_the_same_name() -> None:
    assert doubled_names() == {}


def test_product_code_is_not_named_like_tests() -> None:
    """Test runners would collect it."""
    for file in FILES:
        tree = tree_of(file)
        nodes = list(ast.walk(tree))
        functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert not [name for name in (file.name, *functions) if name.startswith("test_")], file
        assert not [name for name in types_in(tree) if name.lstrip("_").startswith("Test")], file
        assert not [node for node in nodes if isinstance(node, ast.arg) and node.arg == "test"], file


def test_verbs_that_once_meant_several_acts_mean_one() -> None:
    """Only a story is told. Answers are read, translated and written (glossary, `answer writer`), and nothing is named
    by having been told or heard."""
    for file in FILES:
        functions = {
            node.name.lstrip("_")
            for node in ast.walk(tree_of(file))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        place = file.relative_to(SOURCE)
        assert not functions & {"told", "hear", "heard", "hear_out"}, place
        assert "tell" not in functions or place.name == "story.py", place


def test_where_protocols_are_translated_nothing_is_named_told_or_heard() -> None:
    """What was read, translated or written has a name that says which."""
    for file in FILES:
        if file.relative_to(SOURCE).is_relative_to("core/dialects") or file.parent.name in {"vendors", "answers"}:
            names = {node.id for node in ast.walk(tree_of(file)) if isinstance(node, ast.Name)}
            assert not names & {"told", "heard", "unheard", "overheard", "telling"}, file.relative_to(SOURCE)
