"""OpenCode agents: `.opencode/agent/*.md`.

Above: `reading`. Below: what the readers share. Most actions are allowed unless the file denies
them; of several rules the last that fits wins; `ask` grants, and asks. Three spellings are read:
`permission` (an object), `permissions` (a list of rules) and the older `tools` (true or false).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from attr import define, field

from agentctl.agentfiles.header import at, boolean_of, text_of
from agentctl.agentfiles.model import Token
from agentctl.agentfiles.names import OPENCODE, OPENCODE_ALIASES, OPENCODE_ASKED
from agentctl.agentfiles.readers.common import Written, report_keys, take_servers, unknown
from agentctl.text.nodes import Mapping, Refused, Sequence

if TYPE_CHECKING:
    from agentctl.agentfiles.header import Head, Place
    from agentctl.agentfiles.model import Draft, Grant
    from agentctl.text.nodes import Node

KEYS: Final = (
    "name", "description", "mode", "model", "prompt", "temperature", "top_p", "steps", "maxSteps",
    "permission", "permissions", "tools", "disable", "hidden", "color", "mcp",
)  # fmt: skip
_EFFECTS: Final = frozenset({"allow", "ask", "deny"})


@define(eq=False, repr=False)
class _Rule:
    """One rule: an action or a pattern of actions, a pattern of what it is done to, an effect."""

    action: str
    resource: str
    effect: str
    place: Place


@define(eq=False, repr=False)
class _Answer:
    """What the rules say of one action."""

    effect: str
    place: Place = (1, 1)
    patterns: list[str] = field(factory=list)


def read(head: Head, draft: Draft) -> Grant:
    """Return the grant of an agent. Raises Refused for rules that cannot be read."""
    report_keys(draft, head, KEYS)
    take_servers(draft, head, "mcp")
    rules = [*_old_rules(head, draft), *_object_rules(head), *_list_rules(head)]
    if not rules:
        return draft.inherits("no permission is set: mostly all is allowed", (1, 1))
    asks = head.get("permissions") is not None
    for action in OPENCODE:
        _take(draft, action, _answer(rules, action, "ask" if asks else None))
    _take_others(draft, rules)
    return draft.finish("listed")


def _old_rules(head: Head, draft: Draft) -> list[_Rule]:
    node = head.get("tools")
    if node is None:
        return []
    if not isinstance(node, Mapping):
        raise Refused("tools is not an object of true and false", head.place("tools"))
    draft.add("deprecated:tools")
    found = []
    for name, value in node.entries.items():
        flag = boolean_of(value)
        if flag is None:
            raise Refused(f"tools.{name} is neither true nor false", at(value))
        found.append(_Rule(_action(name), "*", "allow" if flag else "deny", node.keys[name]))
    return found


def _object_rules(head: Head) -> list[_Rule]:
    node = head.get("permission")
    if node is None:
        return []
    if not isinstance(node, Mapping):
        return [_Rule("*", "*", _effect(node, "permission"), at(node))]
    found = []
    for name, value in node.entries.items():
        action, place = _action(name), node.keys[name]
        if isinstance(value, Mapping):
            found += [
                _Rule(action, pattern, _effect(one, name), value.keys[pattern])
                for pattern, one in value.entries.items()
            ]
        else:
            found.append(_Rule(action, "*", _effect(value, name), place))
    return found


def _list_rules(head: Head) -> list[_Rule]:
    node = head.get("permissions")
    if node is None:
        return []
    if not isinstance(node, Sequence):
        raise Refused("permissions is not a list of rules", head.place("permissions"))
    return [_list_rule(item) for item in node.items]


def _list_rule(item: Node) -> _Rule:
    entries = item.entries if isinstance(item, Mapping) else {}
    action, effect = text_of(entries.get("action")), entries.get("effect")
    resource = "*" if "resource" not in entries else text_of(entries["resource"])
    if action is None or resource is None or effect is None:
        raise Refused("a rule has an action, a resource and an effect", at(item))
    return _Rule(_action(action), resource, _effect(effect, action), at(item))


def _action(name: str) -> str:
    return OPENCODE_ALIASES.get(name, name)


def _effect(node: Node, name: str) -> str:
    text = text_of(node)
    if text not in _EFFECTS:
        raise Refused(f"{name} is neither allow, ask nor deny", at(node))
    return text


def _fits(rule: _Rule, action: str) -> bool:
    pattern = re.escape(rule.action).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(pattern, action) is not None


def _answer(rules: list[_Rule], action: str, default: str | None) -> _Answer:
    """Return what the rules say: the last one for everything, and the patterns behind it."""
    fallback = default or ("unset" if action in OPENCODE_ASKED else "allow")
    answer = _Answer(fallback)
    for rule in rules:
        if not _fits(rule, action):
            continue
        if not rule.resource.strip("*"):
            answer = _Answer(rule.effect, rule.place)
        else:
            # A rule with a pattern leaves the rest as it was.
            sign = "!" if rule.effect == "deny" else ""
            answer.patterns.append(f"{sign}{rule.resource}")
            answer.place = rule.place
            if rule.effect == "ask":
                answer.patterns[-1] = f"?{rule.resource}"
    return answer


def _take(draft: Draft, action: str, answer: _Answer) -> None:
    scopes, extras = OPENCODE[action]
    place, opened = answer.place, [one for one in answer.patterns if not one.startswith("!")]
    if answer.effect == "unset" and not opened:
        return
    if answer.effect in ("deny", "unset"):
        token = Token(action, *place, scopes, extras, is_denied=not opened)
        draft.take(token)
        draft.add(*(f"pattern:{action} {one.lstrip('?')}" for one in opened))
        draft.limit(*(f"pattern:{action} {one}" for one in answer.patterns))
        return
    draft.take(Token(action, *place, scopes, extras))
    # What a pattern closes or asks for is a bound that another host does not keep.
    draft.limit(*(f"pattern:{action} {one}" for one in answer.patterns if one not in opened))
    if answer.effect == "ask" or any(one.startswith("?") for one in opened):
        draft.limit(f"asks:{action}")


def _take_others(draft: Draft, rules: list[_Rule]) -> None:
    """Take rules for tools of servers, and what a later catch-all leaves of them."""
    strange = [rule for rule in rules if rule.action not in OPENCODE and rule.action != "*"]
    for rule in strange:
        last = _answer(rules, rule.action, None)
        if any(_fits(rule, action) for action in OPENCODE) or last.effect == "deny":
            continue
        draft.take(unknown(draft, Written(rule.action, rule.place), OPENCODE))
    if not any(rule.action == "*" and rule.resource == "*" for rule in rules):
        # Tools of servers that the user has configured are allowed too.
        draft.is_open = True
        draft.note(
            "doubtful", "tools of servers stay allowed", rules[0].place, 'begin with `"*": deny`'
        )
    elif _answer(rules, "a server's tool", None).effect != "deny":
        draft.add("mcp:*")
