"""Conditions of `when` and `while`: one exact template that gives a boolean.

Above: the compiler, which parses them, and the scheduler, which evaluates them. Below:
`expression`. Never: I/O, code execution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attr import field, frozen

from agentctl.engine.expression import (
    Path,
    Scope,
    TemplateError,
    compile_expression,
    parse_expression,
)
from agentctl.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentctl.jsonvalue import JsonValue

_SPACE = " \t\r\n"
_CACHE_ENTRIES_MAX: Final = 1024
_CACHE_TEXT_CHARS_MAX: Final = 1024


@frozen(eq=False, repr=False)
class Condition(Value):
    """A parsed condition; `expression` is the template as written, without outer white space."""

    expression: str
    path: Path
    _value: Callable[[Scope], JsonValue] = field(eq=False, repr=False)

    def evaluate(self, scope: Scope) -> bool:
        """Return the truth: null, false, 0, "", [] and {} are false.

        Raises MissingValue for an absent path, TemplateError for an order of non-numbers.
        """
        return bool(self._value(scope))

    @property
    def references(self) -> tuple[Path, ...]:
        """The paths that the condition reads."""
        return (self.path,)


_cache: dict[tuple[str, bool], Condition] = {}


def parse_condition(text: str, *, allow_loop: bool = False) -> Condition:
    """Parse a condition; `allow_loop` admits `loop.output`, the alias of `vars.loopPrevious`.

    Raises TemplateError unless the text is exactly one template.
    """
    key = (text, allow_loop)
    made = _cache.get(key)
    if made is None:
        made = _parse(text, allow_loop=allow_loop)
        if len(text) <= _CACHE_TEXT_CHARS_MAX:
            if len(_cache) >= _CACHE_ENTRIES_MAX:
                _cache.clear()
            _cache[key] = made
    return made


def _parse(text: str, *, allow_loop: bool) -> Condition:
    expression = text.strip(_SPACE)
    if not expression.startswith("${{"):
        help = None if "${{" in text else f"write ${{{{ {expression[:60]} }}}}"
        raise TemplateError("a condition is exactly one template: ${{ … }}", help=help)
    parsed, end = parse_expression(expression, 0, allow_loop=allow_loop)
    if end != len(expression):
        raise TemplateError(
            f"a condition is exactly one template; text follows it (character {end + 1})",
            position=end,
        )
    return Condition(expression, parsed.path, compile_expression(parsed))
