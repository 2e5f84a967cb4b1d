"""Plain conversion of option texts, in place of Typer's general one.

Above: `app` and `command`, which build these classes. Below: Typer. Otherwise Typer would import
pydantic for it, which costs more than all of `agentctl version`; our parameters are texts,
numbers, flags, lists of texts and choices, and need no more than this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args, get_origin

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import Context
    from typer._click.core import Parameter


class PlainCommand(TyperCommand):
    """A command whose parameters are converted plainly."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters, each with its converter."""
        return lighten(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group whose own parameters are converted plainly."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters, each with its converter."""
        return lighten(super().get_params(ctx))


def lighten(parameters: list[Parameter]) -> list[Parameter]:
    """Give every parameter a plain converter, and return them."""
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is not None:
            vars(parameter)["_runtime_param"] = Plain(descriptor.annotation)
    return parameters


class Plain:
    """Converts the text of one parameter to the type that its annotation names."""

    def __init__(self, annotation: object) -> None:
        kinds = [one for one in get_args(annotation) if one is not type(None)]
        is_choice = get_origin(annotation) is Literal
        is_list = get_origin(annotation) is list
        if kinds and not is_choice and not is_list:
            annotation = kinds[0]
        self.kind = annotation
        self.choices = get_args(annotation) if get_origin(annotation) is Literal else ()

    def coerce(self, value: object, param: Parameter, ctx: Context) -> object:
        """Return the converted value; raises BadParameter with what is allowed."""
        if isinstance(value, (list, tuple)):
            return list(value)
        if value is None:
            return [] if param.multiple or param.nargs == -1 else None
        if self.choices and value not in self.choices:
            allowed = ", ".join(repr(one) for one in self.choices)
            raise _bad(f"{value!r} is not one of {allowed}", param, ctx)
        if self.kind is int or self.kind is float:
            return self._number(value, param, ctx)
        return value

    def _number(self, value: object, param: Parameter, ctx: Context) -> int | float:
        try:
            return int(str(value)) if self.kind is int else float(str(value))
        except ValueError:
            raise _bad(f"{value!r} is not a number", param, ctx) from None


def _bad(reason: str, param: Parameter, ctx: Context) -> BadParameter:
    options = "/".join(param.opts) or str(param.name).upper()
    return BadParameter(reason, ctx=ctx, param_hint=f"'{options}'")
