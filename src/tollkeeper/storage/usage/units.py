"""In what unit a call is counted, in SQL. It says of a model what `unit_of` says of the price of each call.

A model's images are priced by size, all of them, or by token, for as long as it is in the catalog (`accounts.prices`),
so that sums by model need not know the price of each call.
"""

from tollkeeper.core.catalog.models import UNITS

# Of `m`, a model.
_UNIT = """case when m.kind = 'image' and not exists (
        select from price sized where sized.model_id = m.id and sized.variant <> '') then 'token'
    else case m.kind KINDS end end"""
_KINDS = " ".join(f"when '{kind.value}' then '{unit.value}'" for kind, unit in UNITS.items())


def with_unit(sql: str) -> str:
    """The text, with what gives a model's unit in place of UNIT."""
    return sql.replace("UNIT", _UNIT.replace("KINDS", _KINDS))
