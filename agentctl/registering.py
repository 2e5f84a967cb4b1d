"""Python functions as actions of an engine, and the executors of all that a plan wants.

Above: the door, `agentctl.door`. Below: `effects.functions`, `effects.registry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from agentctl.errors import PrerequisiteError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agentctl.effects.functions import FunctionAction, RunsIn
    from agentctl.engine.ports import Executor
    from agentctl.engine.records import Idempotency
    from agentctl.jsonvalue import JsonObject

    F = TypeVar("F", bound=Callable[..., object])

CATALOG_PREFIX = "catalog."


class Registering:
    """The part of `Engine` that knows the functions that it may call."""

    def __init__(self) -> None:
        self._functions: dict[str, FunctionAction] = {}

    def action(
        self,
        name: str,
        *,
        idempotency: Idempotency = "at_most_once",
        runs_in: RunsIn = "thread",
        probe: JsonObject | None = None,
        secrets: Mapping[str, JsonObject] | None = None,
    ) -> Callable[[F], F]:
        """Register a Python function as the action `name`.

        Its parameters become the input schema; a parameter `idempotency_key` is given the key
        that stays the same over every attempt to do this one effect. `idempotency` decides
        what happens after a crash between dispatch and confirmation: pure, idempotent and
        keyed functions are called again, at_most_once ones never, and wait for a person. A
        plain function runs in a thread; with `runs_in="loop"` on the event loop itself, and
        with `runs_in="process"` in a process of its own, which a deadline or a cancellation
        kills: choose that for one that computes. `probe` is what a document declares for its
        actions: `{uses, with, mode}`. `secrets` maps parameters to references such as
        `{"env": "API_TOKEN"}`: they are given the value at each call, and no workflow, record
        or message ever holds it.
        """

        def register(call: F) -> F:
            from inspect import iscoroutinefunction

            from agentctl.effects.functions import FunctionAction
            from agentctl.effects.processes.calling import locate
            from agentctl.effects.signatures import checker, input_schema, wants_key

            if name in self._functions:
                raise UsageError(f"the action {name!r} is registered already")
            schema = input_schema(call, secrets or ())
            self._functions[name] = FunctionAction(
                name=name,
                call=call,
                idempotency=idempotency,
                input_schema=schema,
                check=checker(schema),
                is_async=iscoroutinefunction(call),
                runs_in=runs_in,
                place=locate(call) if runs_in == "process" else None,
                wants_key=wants_key(call),
                probe=probe,
                secrets=dict(secrets or {}),
            )
            return call

        return register

    def _executors(self, wanted: Collection[str]) -> dict[str, Executor]:
        from agentctl.effects.registry import executors_for
        from agentctl.engine.kinds import FUNCTION_KIND

        catalog = {one for one in wanted if one.startswith(CATALOG_PREFIX)}
        executors, missing = executors_for(set(wanted) - {FUNCTION_KIND} - catalog)
        if missing:
            raise PrerequisiteError(
                f"nothing here can perform {', '.join(missing)}",
                help="register an executor, or use another kind",
            )
        if FUNCTION_KIND in wanted:
            from agentctl.effects.functions import FunctionExecutor

            executors[FUNCTION_KIND] = FunctionExecutor(self._functions)
        if catalog:
            executors |= dict.fromkeys(catalog, self._catalog_executor())
        return executors

    def _catalog_executor(self) -> Executor:
        """Return what carries out the catalog; `Engine` knows the store that it needs."""
        raise NotImplementedError
