"""Wishes by chance: every value that a field's type allows, for every act of the table."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

# The API refuses texts that PostgreSQL cannot keep.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
ROWS = 2**63 - 1


def wishes(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return _struct(found)


def _struct(kind: inspect.StructType) -> st.SearchStrategy[Any]:
    return st.builds(kind.cls, **{field.name: _of(field.type) for field in kind.fields})


def _of(kind: inspect.Type) -> st.SearchStrategy[Any]:
    made: st.SearchStrategy[Any] = MAKERS[type(kind)](kind)
    return made


def _text(kind: Any) -> st.SearchStrategy[str]:
    if kind.pattern is not None:
        fits = st.from_regex(kind.pattern, fullmatch=True, alphabet=CHARACTERS)
        return fits.filter(lambda text: (kind.min_length or 0) <= len(text) <= (kind.max_length or 200))
    return st.text(CHARACTERS, min_size=kind.min_length or 0, max_size=min(kind.max_length or 50, 50))


def _whole(kind: Any) -> st.SearchStrategy[int]:
    return st.integers(
        -ROWS if kind.ge is None and kind.gt is None else (kind.ge if kind.ge is not None else kind.gt + 1),
        ROWS if kind.le is None and kind.lt is None else (kind.le if kind.le is not None else kind.lt - 1),
    )


def _list(kind: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(_of(kind.item_type), min_size=kind.min_length or 0, max_size=min(kind.max_length or 4, 4))


def _decimal(_: object) -> st.SearchStrategy[Decimal]:
    return st.decimals(min_value=-(10**9), max_value=10**9, places=6)


def _moment(_: object) -> st.SearchStrategy[datetime]:
    return st.integers(0, 4_000_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


MAKERS: dict[type[inspect.Type], Any] = {
    # A description beside the type.
    inspect.Metadata: lambda kind: _of(kind.type),
    inspect.StrType: _text,
    inspect.IntType: _whole,
    inspect.BoolType: lambda _: st.booleans(),
    inspect.NoneType: lambda _: st.none(),
    inspect.DecimalType: _decimal,
    inspect.DateTimeType: _moment,
    inspect.DateType: lambda _: st.dates(),
    inspect.UUIDType: lambda _: st.uuids(),
    inspect.FloatType: lambda kind: st.floats(kind.ge, kind.le, allow_nan=False, allow_infinity=False),
    inspect.EnumType: lambda kind: st.sampled_from(list(kind.cls)),
    inspect.LiteralType: lambda kind: st.sampled_from(list(kind.values)),
    inspect.ListType: _list,
    inspect.CollectionType: _list,
    inspect.VarTupleType: lambda kind: _list(kind).map(tuple),
    inspect.FrozenSetType: lambda kind: _list(kind).map(frozenset),
    inspect.DictType: lambda kind: st.dictionaries(
        _of(kind.key_type), _of(kind.value_type), min_size=kind.min_length or 0, max_size=4
    ),
    inspect.UnionType: lambda kind: st.one_of(*map(_of, kind.types)),
    inspect.StructType: _struct,
}
