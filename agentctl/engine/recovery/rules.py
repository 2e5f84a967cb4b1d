"""What can stand against a derived run, each rule with what it means.

Above: the planner, and the migration of memory. Below: nothing.
Source: specification, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from attr import frozen

from agentctl.value import Value

if TYPE_CHECKING:
    from agentctl.jsonvalue import JsonObject

Rule = Literal[
    "repair_root_missing",
    "successful_root_requires_acknowledgement",
    "definition_fingerprint_mismatch",
    "resolved_input_digest_mismatch",
    "output_contract_mismatch",
    "artifact_integrity",
    "new_task_outside_repair_closure",
    "unreconciled_effect",
    "confirmed_mutation",
    "memory_key_unknown",
    "memory_key_collision",
    "memory_schema_mismatch",
]

MEANINGS: Final[dict[Rule, str]] = {
    "repair_root_missing": "the workflow has no task of this name",
    "successful_root_requires_acknowledgement": "it succeeded; --restart-successful runs it again",
    "definition_fingerprint_mismatch": "its definition changed; name it with --from",
    "resolved_input_digest_mismatch": "other values would reach it now; name it with --from",
    "output_contract_mismatch": "its recorded output does not fit its outputSchema any more",
    "artifact_integrity": "bytes that it kept are missing or damaged",
    "new_task_outside_repair_closure": "it is new, and nothing that runs again leads to it",
    "unreconciled_effect": "one of its effects may have happened; reconcile it first",
    "confirmed_mutation": "it changed the outside world, and would do so again; undo it with "
    "`agentctl compensate` first",
    "memory_key_unknown": "the working memory has no such key",
    "memory_key_collision": "two values would have this key",
    "memory_schema_mismatch": "the migrated memory does not fit the declared schema",
}


@frozen(eq=False, repr=False)
class Blocked(Value):
    """A task, or a place of the document, that stands against the plan, and the rule that says so.

    `task_id` is None where a declared migration of memory breaks a rule; then `place` is where
    it stands, and `told` says what is wrong there.
    """

    task_id: str | None
    rule: Rule
    place: str | None = None
    told: str | None = None

    def to_json(self) -> JsonObject:
        """Return the public form."""
        return {
            "taskId": self.task_id,
            "place": self.place,
            "rule": self.rule,
            "meaning": self.told or MEANINGS[self.rule],
        }
