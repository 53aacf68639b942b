"""What of the program's own file a trial does not have, which loads it under another name."""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from tune._given import Bound


def module_name() -> str | None:
    """The name by which a trial can import the program; None: it is no module of a package."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is None or spec.origin != getattr(main, "__file__", None):
        return None
    return str(spec.name)


def names_of_its_own(trainable: Any) -> list[str]:
    """Global names that `trainable`, of the program's own file, has or uses, and that a trial would
    not find as they are: they are set behind ``if __name__ == "__main__"``, or by a function that
    only the program calls."""
    main = sys.modules.get("__main__")
    statements = _statements(main)
    if main is None or statements is None:
        return []
    used: dict[str, None] = {getattr(trainable, "__qualname__", "").partition(".")[0]: None}
    reached = {id(trainable)}
    _walk(trainable, main, used, reached)
    own = set(_set_by_the_program(statements)) | set(_set_by_functions(main, statements, reached))
    return [name for name in used if name in own]


def is_unguarded() -> bool:
    """Whether the search is begun by what the program's file does whenever it is loaded, also by a
    trial."""
    main = sys.modules.get("__main__")
    frame: FrameType | None = sys._getframe()
    while frame is not None and not (
        frame.f_code.co_name == "<module>" and frame.f_globals is vars(main)
    ):
        frame = frame.f_back
    statements = _statements(main)
    if frame is None or statements is None:
        return False
    for each in statements:
        if each.lineno <= frame.f_lineno <= (each.end_lineno or each.lineno):
            return not _is_guard(each)
    return False


def _statements(main: Any) -> list[ast.stmt] | None:
    file = getattr(main, "__file__", None)
    if not file or not str(file).endswith(".py"):
        return None
    try:
        with open(file, "rb") as source:
            return ast.parse(source.read()).body
    except (OSError, SyntaxError, ValueError):
        return None


def _is_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(statement.test)
    )


def _set_by_the_program(statements: list[ast.stmt]) -> Iterator[str]:
    """What is set behind the guard."""
    for each in statements:
        if isinstance(each, ast.If) and _is_guard(each):
            for inner in each.body:
                yield from _bound(inner)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that the statement sets in the scope that it stands in."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        for each in statement.names:
            yield (each.asname or each.name).partition(".")[0]
        return
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.stmt):
            yield from _bound(node)
        elif isinstance(node, ast.ExceptHandler):
            for inner in node.body:
                yield from _bound(inner)
        else:
            for name in ast.walk(node):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    yield name.id


def _set_by_functions(
    main: ModuleType, statements: list[ast.stmt], reached: set[int]
) -> Iterator[str]:
    """What functions declare global that the trainable does not call: the program does."""
    for each in statements:
        if not isinstance(each, ast.FunctionDef):
            continue
        if id(getattr(main, each.name, None)) in reached:
            continue
        for node in ast.walk(each):
            if isinstance(node, ast.Global):
                yield from node.names


def _walk(value: Any, main: ModuleType, used: dict[str, None], reached: set[int]) -> None:
    """Global names in the code of `value` and of what of the same file that uses."""
    for code in _codes(value):
        for name in _names_in(code):
            if not hasattr(main, name):
                continue
            used.setdefault(name)
            inner = getattr(main, name)
            own = getattr(inner, "__module__", None) == "__main__"
            if own and id(inner) not in reached:
                reached.add(id(inner))
                _walk(inner, main, used, reached)


def _codes(value: Any) -> Iterator[CodeType]:
    value = value.function if isinstance(value, Bound) else value
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        for base in value.__mro__:
            if base.__module__ == "__main__":
                for each in vars(base).values():
                    each = getattr(each, "__func__", each)
                    if isinstance(each, FunctionType):
                        yield each.__code__


def _names_in(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names_in(each)
