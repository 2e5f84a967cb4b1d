"""The smallest value of every class of the model, made from its declarations."""

from __future__ import annotations

import json
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from attr import NOTHING, fields, has

from agentctl.engine.document.agent_model import Agent
from agentctl.engine.document.fields import BOUNDS, document_name
from agentctl.engine.document.hints import resolve
from agentctl.engine.document.model import Action, Workflow
from agentctl.engine.document.pack_model import PackLock, PackManifest
from agentctl.engine.document.rules import ACTION_FIELDS, PROCESS_KINDS
from agentctl.engine.document.secret_model import Secret
from agentctl.engine.document.structure import structure
from agentctl.engine.document.tree import parse_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attr import Attribute

    from agentctl.diagnostics import Diagnostic
    from agentctl.jsonvalue import JsonObject, JsonValue

ROOTS: tuple[type, ...] = (Workflow, PackManifest, PackLock)
TEXTS = {"^sha256:[0-9a-f]{64}$": "sha256:" + "0" * 64}
RULED: dict[type, JsonObject] = {Agent: {"instructions": "x", "model": "m"}, Secret: {"env": "A"}}


def classes() -> list[type]:
    """Return every class that a document can hold."""
    found: list[type] = []
    waiting: list[Any] = list(ROOTS)
    while waiting:
        hint = waiting.pop()
        if isinstance(hint, type) and has(hint) and hint not in found:
            found.append(hint)
            resolve(hint)
            waiting += [one.type for one in fields(hint)]
        waiting += get_args(hint) if get_origin(hint) is not Literal else ()
    return sorted(found, key=lambda one: one.__name__)


def declared() -> Iterator[tuple[type, Attribute[Any]]]:
    """Return every field with its class."""
    for cls in classes():
        for one in fields(cls):
            yield cls, one


def smallest(cls: type) -> JsonObject:
    """Return an object with the required fields alone, and one way through its rules."""
    made = {document_name(one): sample(one) for one in fields(cls) if one.default is NOTHING}
    return made | RULED.get(cls, {})


def sample(one: Attribute[Any]) -> JsonValue:
    """Return a value that a field accepts."""
    bounds = one.metadata[BOUNDS]
    if "type" in bounds:
        return {}
    if "pattern" in bounds:
        return TEXTS.get(bounds["pattern"], "a")
    hint = inner_type(one.type)
    if get_origin(hint) is list and bounds.get("minItems"):
        return [_value(get_args(hint)[0])]
    if hint in (int, float):
        minimum: int = bounds.get("minimum", 1)
        return minimum
    return _value(hint)


def inner_type(hint: Any) -> Any:
    """Return a type without the None beside it."""
    if get_origin(hint) in (Union, UnionType):
        return next(one for one in get_args(hint) if one is not type(None))
    return hint


def _value(hint: Any) -> JsonValue:
    if get_origin(hint) is Literal:
        choice: str = get_args(hint)[0]
        return choice
    if get_origin(hint) in (list, dict):
        return [] if get_origin(hint) is list else {}
    if has(hint):
        return smallest(hint)
    simple: dict[object, JsonValue] = {str: "a", bool: True, int: 1, float: 1.5, Any: None}
    return simple[hint]


def with_field(cls: type, one: Attribute[Any], value: JsonValue) -> JsonObject:
    """Return the smallest object with one more field, of a kind that has this field."""
    made = smallest(cls)
    if cls is Action:
        for kinds, names in ACTION_FIELDS.items():
            if one.name in names:
                made |= {"kind": kinds[0]}
        if made["kind"] in PROCESS_KINDS:
            made["command"] = "c"
        if one.name == "container":
            made["isolation"] = "container"
    if cls is Secret:
        made = {}
    if cls is Agent and one.name in ("instructions_file", "file", "format"):
        made.pop("instructions")
    if cls is Agent and one.name == "format":
        made["file"] = "a"
    return made | {document_name(one): value}


def problems_in(cls: type, value: JsonValue) -> list[Diagnostic]:
    """Return what is wrong with a value as an object of a class."""
    root = parse_tree(json.dumps(value).encode(), "f").root
    assert root is not None
    made, problems = structure(root, cls, "f")
    assert (made is None) == bool(problems)
    return problems
