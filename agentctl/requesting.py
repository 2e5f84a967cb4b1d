"""The part of `Engine` by which people answer what agents ask, and judge what they hand in.

Above: the door. Below: the control plane and approvals. A run that waits for an answer waits for
the approval of the effect that takes it, so an answer approves that effect as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agentctl.errors import RequestAnswered, UnknownRequest, UsageError
from agentctl.jsonvalue import digest
from agentctl.part import Part

if TYPE_CHECKING:
    from agentctl.clock import Clock
    from agentctl.engine.entities import Entity, EntityView
    from agentctl.engine.records import ApprovalRecord
    from agentctl.jsonvalue import JsonObject, JsonValue

_CONFIRMATION = "confirmation"


class Requesting(Part):
    """Questions to people, and reviews, as agents opened them."""

    _clock: Clock

    def decide_approval(
        self, approval_id: str, *, approve: bool, actor: str, reason: str = ""
    ) -> ApprovalRecord:
        """Approve or reject; another part of the engine does."""
        raise NotImplementedError

    def requests(self, *, all: bool = False) -> list[JsonObject]:
        """Return the open questions and reviews of every run, oldest first; `all` of them."""

        def look(view: EntityView) -> list[Entity]:
            return [*view.entities("request"), *view.entities("review")]

        found = sorted(self.store.entities.look(look), key=lambda one: one.created_at)
        return [_data(one) for one in found if all or not one.is_final]

    def answer_request(
        self,
        request_id: str,
        *,
        accepted: bool,
        actor: str,
        answer: JsonValue = None,
        reason: str = "",
    ) -> JsonObject:
        """Answer a question, or judge a review; resuming the run goes on with the answer.

        `answer` is what the question asks for, and `accepted` is false for a no. Raises
        UnknownRequest, RequestAnswered, UsageError for an answer that is missing, and RunHeld
        while a live process owns the run.
        """
        found = self._request(request_id)
        if found.kind == "request":
            if accepted and answer is None and found.body["interactionKind"] != _CONFIRMATION:
                raise UsageError(
                    f"{request_id} asks for more than a yes", help="give the answer as JSON"
                )
            given: JsonObject = {"requestId": request_id, "accepted": accepted, "answer": answer}
            done = self._perform("answer_request", found, given, actor)
            self._wake(found, actor, reason)
            return done
        given = {"reviewId": request_id, "accepted": accepted, "comment": reason or None}
        return self._perform("judge_review", found, given, actor)

    def _request(self, request_id: str) -> Entity:
        def look(view: EntityView) -> Entity | None:
            return view.entity("request", request_id) or view.entity("review", request_id)

        found = self.store.entities.look(look)
        if found is None:
            raise UnknownRequest(f"no request {request_id}", help="see `agentctl requests list`")
        return found

    def _perform(self, operation: str, found: Entity, given: JsonObject, actor: str) -> JsonObject:
        from agentctl.control.desk import Call
        from agentctl.control.performing import perform

        call = Call(
            operation=operation,
            given=given,
            # The same answer of the same person again is no second one.
            key=f"person-{digest({**given, 'actor': actor})[:40]}",
            run_id=_run_of(found),
            task_id=found.owner,
            actor=actor,
            role="person",
            mode="standard",
        )
        answer = perform(self.store.entities, call, self._clock.now())
        if not answer["ok"]:
            raise RequestAnswered(
                f"{found.id} is {found.state}; an answer is never taken back",
                help="see `agentctl requests list --all`",
            )
        return {**cast("JsonObject", answer["value"]), "runId": _run_of(found)}

    def _wake(self, found: Entity, actor: str, reason: str) -> None:
        """Let the effect that waits for this answer go on, if there is one."""
        from agentctl.engine.kinds import TAKE_ANSWER
        from agentctl.engine.view import pending_approvals

        history = self.store.load_run(_run_of(found))
        waiting = {
            one.id
            for one in history.effects
            if one.operation == TAKE_ANSWER
            and cast("JsonObject", one.input)["requestId"] == found.id
        }
        for question in pending_approvals(history):
            if question.effect_id in waiting:
                self.decide_approval(question.id, approve=True, actor=actor, reason=reason)


def _data(one: Entity) -> JsonObject:
    from agentctl.clock import iso

    return {
        "requestId": one.id,
        "kind": one.kind,
        "state": one.state,
        "runId": _run_of(one),
        "taskId": one.owner.rpartition("/")[2],
        "requestedAt": iso(one.created_at),
        **one.body,
    }


def _run_of(one: Entity) -> str:
    """Return the run whose task a question belongs to."""
    return one.owner.partition("/")[0]
