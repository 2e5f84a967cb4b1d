"""The catalog's tools in the agent loop: who may call what, and each call as one effect.

Above: the agent loop. Below: the catalog and, by operation name, its executor. A call is judged
again when it is made; one that is refused becomes a record on the ledger and nothing else, and
the model is told the reason. The question to a person is an effect that waits for approval, so
waiting for an answer is waiting for approval.
Source: the semantic tool specification, "Exposure and invocation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from attr import define, evolve, field

from agentctl.catalog.bindings import BINDING_OF_KIND, read_arguments
from agentctl.catalog.descriptor import READING
from agentctl.catalog.exposure import decide_call, expose
from agentctl.catalog.policy import Grant, Policy
from agentctl.catalog.tools import BY_ID
from agentctl.engine.kinds import TAKE_ANSWER
from agentctl.engine.ports import EffectRequest
from agentctl.engine.schema_check import validate
from agentctl.jsonvalue import canonical

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from agentctl.catalog.bindings import Provider
    from agentctl.catalog.descriptor import Descriptor, Group, SideEffectClass, TaskMode
    from agentctl.catalog.exposure import Decision
    from agentctl.engine.programs.base import TaskContext
    from agentctl.engine.records import Risk
    from agentctl.jsonvalue import JsonObject, JsonValue

    _Steps = Generator[EffectRequest, JsonValue, JsonValue]

PREFIX: Final = "catalog."
REFUSE: Final = "catalog.refuse"
# These say that the agent is through with its task, whatever the model would say next.
ENDING: Final = frozenset({"finish_task", "block_task", "request_review"})
_ASK: Final = "request_human_input"
# A person's no may end the turn as well: `wake_assignee_on_accept`.
MAY_END: Final = ENDING | {_ASK}
_RISKS: Final[Mapping[SideEffectClass, Risk]] = {
    "read": "low",
    "task_write": "low",
    "company_write": "medium",
    "governance": "high",
    "workspace_control": "high",
    "secret_read": "high",
    "admin": "high",
    "test_escape_hatch": "critical",
}


def grant_of(declared: JsonObject) -> Grant:
    """Return the grant that an agent's `catalog` declares; groups must be named."""
    return Grant(
        role=cast("str", declared["role"]),
        mode=cast("TaskMode", declared["mode"]),
        claims=frozenset(cast("list[str]", declared["claims"])),
        groups=frozenset(cast("list[Group]", declared["groups"])),
        tools=frozenset(cast("list[str]", declared["tools"])),
    )


def policy_of(policy: JsonObject) -> Policy:
    """Return what a document's policy says about the catalog; the tests' hatch stays closed."""
    declared = cast("JsonObject", policy["catalog"] or {})
    kinds = cast("list[str] | None", declared.get("interactionKinds"))
    denied = [policy["toolsDeny"], declared.get("deniedOperations", [])]
    return Policy(
        denied_operations=frozenset(
            one for names in cast("list[list[str]]", denied) for one in names
        ),
        denied_claims=frozenset(cast("list[str]", declared.get("deniedClaims", []))),
        allows_secret_values=bool(declared.get("allowSecretValues")),
        interaction_kinds=None if kinds is None else frozenset(kinds),
    )


def visible(agent: JsonObject, policy: JsonObject) -> list[str]:
    """Return the tools of the catalog that an agent's definition lets it see, in its order."""
    declared = cast("JsonObject", agent["catalog"])
    exposure = expose(grant_of(declared), policy_of(policy))
    return [one.operation_id for one in exposure.visible]


def operations_of(agent: JsonObject, policy: JsonObject) -> set[str]:
    """Return the operations that an agent with the catalog may ask an executor for."""
    return {REFUSE, TAKE_ANSWER} | {PREFIX + one for one in visible(agent, policy)}


@define(eq=False, repr=False)
class CatalogTools:
    """What one agent may do with the catalog in one task.

    `binding` is how the agent's provider was told of the tools, and so how its calls are read.
    `ended` is the answer to the call that ended the agent's turn, once there is one.
    """

    context: TaskContext
    agent: str
    grant: Grant
    policy: Policy
    binding: Provider
    brief: JsonValue
    ended: JsonObject | None = field(default=None)

    def names(self) -> list[str]:
        """Return the names of the visible tools, in the order of the catalog."""
        return [one.operation_id for one in expose(self.grant, self.policy).visible]

    def steps(self, name: str, arguments: JsonValue) -> _Steps:
        """Carry one call out, or put its refusal on the ledger; return what the model is told."""
        arguments, unread = self._read(name, arguments)
        given = arguments if isinstance(arguments, dict) else {}
        decision = decide_call(name, given, self.grant, self.policy)
        if not decision.is_allowed:
            return canonical((yield self._refusal(decision, str(decision.code), decision.reason)))
        tool = BY_ID[name]
        problems = unread or validate(arguments, tool.input_schema)
        if problems:
            refusal = self._refusal(decision, "input_invalid", "input_schema_invalid", problems)
            return canonical((yield refusal))
        answer = cast("JsonObject", (yield self._request(tool, given, decision)))
        if answer["ok"] and name == _ASK:
            answer = yield from self._wait(given, answer, decision)
        elif answer["ok"] and name in ENDING:
            self.ended = answer
        return canonical(answer)

    def _read(self, name: str, arguments: JsonValue) -> tuple[JsonValue, list[str]]:
        """Return the arguments as the tool's own schema has them, or what is wrong with them."""
        tool = BY_ID.get(name)
        if tool is None:
            return arguments, []
        try:
            return read_arguments(self.binding, tool, arguments), []
        except ValueError as error:
            return arguments, [str(error)]

    def _wait(
        self, given: JsonObject, asked: JsonObject, decision: Decision
    ) -> Generator[EffectRequest, JsonValue, JsonObject]:
        """Wait for the person, as the agent's continuation policy has it."""
        policy = given["continuationPolicy"]
        if policy == "none":
            return asked
        shown = {key: value for key, value in given.items() if key != "continuationPolicy"}
        shown["requestId"] = cast("JsonObject", asked["value"])["requestId"]
        waiting = self._effect(TAKE_ANSWER, shown, "low", decision, is_held=True)
        answer = cast("JsonObject", (yield waiting))
        accepted = answer["ok"] and cast("JsonObject", answer["value"])["accepted"]
        if policy == "wake_assignee_on_accept" and not accepted:
            self.ended = answer
        return answer

    def _request(self, tool: Descriptor, given: JsonObject, decision: Decision) -> EffectRequest:
        made = self._effect(
            PREFIX + tool.operation_id, given, _RISKS[tool.side_effect_class], decision
        )
        if tool.side_effect_class in READING:
            return evolve(made, effect_class="observe", idempotency="idempotent")
        return made

    def _effect(
        self,
        operation: str,
        given: JsonObject,
        risk: Risk,
        decision: Decision,
        *,
        is_held: bool = False,
    ) -> EffectRequest:
        """Return the effect of a call; its key makes it happen once."""
        run = self.context.state.run
        return EffectRequest(
            operation=operation,
            effect_class="internal_state",
            idempotency="keyed",
            risk=risk,
            input=given,
            timeout_seconds=self.context.task.timeout_seconds,
            capability="catalog",
            names=(operation.removeprefix(PREFIX),),
            approval="always" if is_held else "policy",
            hints={
                "runId": run.id,
                "taskId": self._task_id(),
                "actor": f"agent:{self.agent}",
                "role": self.grant.role,
                "mode": self.grant.mode,
                "brief": self.brief,
                "authorization": self._record(decision),
            },
        )

    def _refusal(
        self, decision: Decision, code: str, reason: str, problems: list[str] | None = None
    ) -> EffectRequest:
        """Return the effect that keeps a refusal, and does nothing else."""
        error: JsonObject = {
            "code": code,
            "operationId": decision.operation_id,
            "reason": reason,
        }
        if problems:
            error["problems"] = [*problems]
        record: JsonObject = {**self._record(decision), "outcome": "denied", "reason": reason}
        return EffectRequest(
            operation=REFUSE,
            effect_class="pure",
            idempotency="pure",
            risk="low",
            input={"ok": False, "error": error, "authorization": record},
            timeout_seconds=self.context.task.timeout_seconds,
            approval="never",
        )

    def _task_id(self) -> str:
        return f"{self.context.state.run.id}/{self.context.task.id}"

    def _record(self, decision: Decision) -> JsonObject:
        """Return the authorization record of one call, before anything came of it."""
        tool = BY_ID.get(decision.operation_id)
        redactions = [] if tool is None else [one.path for one in tool.redaction]
        return {
            "runId": self.context.state.run.id,
            "actorId": f"agent:{self.agent}",
            "taskId": self._task_id(),
            "operationId": decision.operation_id,
            "phase": decision.phase,
            "outcome": decision.outcome,
            "consideredClaims": [*decision.considered_claims],
            "grantedClaims": [*decision.granted_claims],
            "missingClaims": [*decision.missing_claims],
            "reason": decision.reason,
            "redactions": [*redactions],
            "resultingStateChange": None,
        }


def catalog_tools(
    context: TaskContext, agent: str, definition: JsonObject, kind: str, brief: JsonValue
) -> CatalogTools:
    """Return the catalog as an agent has it whose definition names it."""
    policy = policy_of(cast("JsonObject", context.definitions["policy"]))
    grant = grant_of(cast("JsonObject", definition["catalog"]))
    return CatalogTools(context, agent, grant, policy, BINDING_OF_KIND[kind], brief)
