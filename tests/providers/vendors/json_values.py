"""Any JSON at all, and answers in which anything may stand anywhere."""

import copy
from typing import Any

from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e300, 1e300) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mangled(draw: st.DrawFn, value: Any) -> Any:
    """The value, with something in it replaced by anything, or left out."""
    root = {"": copy.deepcopy(value)}
    for _ in range(draw(st.integers(1, 3))):
        holder, name = draw(st.sampled_from(_places(root)))
        if isinstance(holder, dict) and name and draw(st.booleans()):
            del holder[name]
        else:
            holder[name] = draw(json_values)
    return root[""]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Everywhere that something stands: what holds it, and under which name or number."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for name, item in inner for place in [(value, name), *_places(item)]]
