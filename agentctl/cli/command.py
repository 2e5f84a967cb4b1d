"""How a command is declared: a typed function that gets the console and returns its exit code.

Above: the command modules. Below: Typer. Every command and group accepts the global options
(how to write, and which database), so that they may stand before or after its name.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Concatenate, Literal, ParamSpec, cast

import typer

from agentctl.cli.coerce import PlainCommand, PlainGroup
from agentctl.cli.console import Console  # noqa: TC001  (read from the annotations)

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")

_PANEL = "Global options"
_Json = Literal["human", "json"]
_Jsonl = Literal["human", "json", "jsonl"]
_COLOUR = Annotated[
    Literal["auto", "always", "never"] | None,
    typer.Option("--color", help="Colour the text. [default: auto]", rich_help_panel=_PANEL),
]
_VERBOSE = Annotated[
    bool, typer.Option("--verbose", help="Say more.", rich_help_panel=_PANEL, show_default=False)
]
_DB = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="The database. [default: .agentctl/runtime.db]",
        rich_help_panel=_PANEL,
    ),
]
_DURABILITY = Annotated[
    Literal["full", "normal"] | None,
    typer.Option(
        "--durability",
        help="What a commit survives: a power failure (full), or a crash of the program (normal). "
        "[default: full]",
        rich_help_panel=_PANEL,
    ),
]
_SHARED = Annotated[
    bool,
    typer.Option(
        "--shared-filesystem",
        help="Open a database on a network or shared file system, in a slower and safe mode.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


def make(name: str, help: str) -> typer.Typer:
    """Return an empty group of commands that accepts the global options itself."""
    group = typer.Typer(
        name=name,
        help=help,
        cls=PlainGroup,
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=False,
        pretty_exceptions_enable=False,
    )
    group.callback()(_with_globals(_nothing, streams=True))
    return group


def single() -> typer.Typer:
    """Return an empty holder for one command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def command(
    app: typer.Typer, name: str, *, streams: bool = False
) -> Callable[[Callable[Concatenate[Console, P], int]], Callable[Concatenate[Console, P], int]]:
    """Add a function to an app as a command; `streams` also allows `--output jsonl`.

    The function gets the console first and its own parameters by name; its docstring is the help.
    """

    def add(
        function: Callable[Concatenate[Console, P], int],
    ) -> Callable[Concatenate[Console, P], int]:
        app.command(name, cls=PlainCommand)(_with_globals(function, streams=streams))
        return function

    return add


def _nothing(console: Console) -> int:
    del console
    return 0


def _with_globals(
    function: Callable[Concatenate[Console, P], int], *, streams: bool
) -> Callable[..., int]:
    """Return the function as Typer wants it, with the global options among its parameters."""

    def invoke(ctx: typer.Context, **given: object) -> int:
        console = cast("Console", ctx.obj)
        _settle(console, given)
        return cast("Callable[..., int]", function)(console, **given)

    own = list(signature(function, eval_str=True).parameters.values())[1:]
    context = Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    shared = [
        Parameter(key, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for key, annotation, default in (
            ("output", _output(streams=streams), None),
            ("color", _COLOUR, None),
            ("verbose", _VERBOSE, False),
            ("db", _DB, None),
            ("durability", _DURABILITY, None),
            ("shared_filesystem", _SHARED, False),
        )
    ]
    keyed = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
    invoke.__doc__ = None if function is _nothing else function.__doc__
    invoke.__name__ = getattr(function, "__name__", "command")
    invoke.__annotations__ = {}
    vars(invoke)["__signature__"] = Signature([context, *keyed, *shared])
    return invoke


def _output(*, streams: bool) -> object:
    help = "How to write the result. [default: human]"
    option = typer.Option("--output", help=help, rich_help_panel=_PANEL)
    return Annotated[_Jsonl | None, option] if streams else Annotated[_Json | None, option]


def _settle(console: Console, given: dict[str, object]) -> None:
    """Move the global options from a command's arguments to the console; the last one wins."""
    output, colour = given.pop("output"), given.pop("color")
    db, durability = given.pop("db"), given.pop("durability")
    if output is not None:
        console.output = cast("Literal['human', 'json', 'jsonl']", output)
    if colour is not None:
        console.colour = cast("Literal['auto', 'always', 'never']", colour)
    if given.pop("verbose"):
        console.verbose = True
    if given.pop("shared_filesystem"):
        console.shared_filesystem = True
    if durability is not None:
        console.durability = cast("Literal['full', 'normal']", durability)
    if isinstance(db, str):
        console.db = db
