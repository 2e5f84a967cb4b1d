"""What each operation does, one module for each group of the catalog.

Above: `performing`. Below: the desk. A handler is a function from the desk and a checked input
to the value of its answer; what it changes it moves at the desk. To add a group, write a module
with its handlers in `HANDLERS`, and name the module here.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentctl.control.handlers import (
    administration,
    company,
    dependencies,
    discovery,
    documents,
    governance,
    handing_in,
    own_task,
    people,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from agentctl.control.desk import Desk
    from agentctl.jsonvalue import JsonObject, JsonValue

    Handler: TypeAlias = Callable[[Desk, JsonObject], JsonValue]

HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        **own_task.HANDLERS,
        **documents.HANDLERS,
        **handing_in.HANDLERS,
        **discovery.HANDLERS,
        **dependencies.HANDLERS,
        **governance.HANDLERS,
        **company.HANDLERS,
        **administration.HANDLERS,
        **people.HANDLERS,
    }
)
