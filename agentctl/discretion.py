"""The part of `Engine` that keeps secrets out of what people type about a run.

Above: the other parts of the door. Below: the secrets of a plan. A reason, an actor or a piece of
evidence may hold a value by mistake; it is redacted before it is checked, told or stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from agentctl.engine.waiting import drive_by_hand
from agentctl.part import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentctl.effects.functions import FunctionAction
    from agentctl.effects.secrets import Secrets
    from agentctl.engine.plan import Plan
    from agentctl.jsonvalue import JsonObject

T = TypeVar("T")


class Discreet(Part):
    """Finds the secrets of a run again, so that they are known to redaction."""

    _functions: dict[str, FunctionAction]

    def _secrets_of_run(self, run_id: str, *, programs: bool = True) -> Secrets:
        """Return the secrets of a stored run. Raises UnknownRun."""
        from agentctl.engine.plan import plan_from_json

        history = self.store.load_run(run_id)
        return self._secrets_of(
            plan_from_json(history.plan), history.run.workspace, programs=programs
        )

    def _secrets_of(self, plan: Plan, workspace: str, *, programs: bool = True) -> Secrets:
        """Return the secrets that a plan refers to, as far as they can be found now.

        Without `programs`, those that a program prints are left out: nothing is started.
        """
        from agentctl.effects.secrets import Secrets
        from agentctl.engine.credentials import credentials_of, place_of

        secrets = Secrets(cast("JsonObject", plan.definitions["policy"]), workspace)
        found = [*(one.reference for one in credentials_of(plan)), *self._given_to_functions()]
        quick = [one for one in found if place_of(one)[0] != "process"]
        if quick:
            drive_by_hand(secrets.remember(quick))
        if programs and len(quick) < len(found):
            _on_a_loop(lambda: secrets.remember(found))
        return secrets

    def _open_secrets(self, policy: JsonObject, workspace: str) -> Secrets:
        """Return the secrets of a run, of which none is known yet."""
        from agentctl.effects.secrets import Secrets

        return Secrets(policy, workspace, self._given_to_functions())

    def _given_to_functions(self) -> list[JsonObject]:
        """Return the references of the registered functions, which no plan holds."""
        functions = self._functions.values()
        return [reference for one in functions for reference in one.secrets.values()]


def _on_a_loop(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run something to its end on a loop of its own, also beside one that is running."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()
