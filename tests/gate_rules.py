"""Forbidden uses of a clock in tests of the gate, found in their source: CONTRIBUTING has the rules.

Code marked ``measured`` is exempt: a function, a class, or a module by its ``pytestmark``.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Breach", "Rule", "breaches"]

LONGEST_PAUSE_S: Final = 0.05
"""The longest pause between two checks of a loop that waits for an event."""
LEAST_PATIENCE_S: Final = 30.0
CLOCKS: Final = frozenset(
    f"{clock}{unit}"
    for clock in ("monotonic", "perf_counter", "process_time", "thread_time", "time")
    for unit in ("", "_ns")
)
TICKING: Final = frozenset({"monotonic", "perf_counter"})
"""Names from which a deadline in seconds is made."""
CPU_TIMES: Final = frozenset({"ru_utime", "ru_stime"})
TIME_NAME: Final = re.compile(r"(elapsed|took|_s|_ms|_ns)$")
CONSTANT_NAME: Final = re.compile(r"_?[A-Z][A-Z0-9_]*")
PATIENT_FUNCTION: Final = re.compile(r"wait|until|join|acquire|result|communicate|select|settimeout")
"""Functions that wait, also those of the tests themselves: ``wait_for``, ``until_ready``."""
ASKING_FUNCTION: Final = re.compile(
    r"run|Popen|call|check_call|check_output|get|connect|create_connection|open_connection|HTTPS?Connection|urlopen"
)
"""Functions of the standard library that wait for an answer; ours of these names have settings of their own."""
PATIENCE: Final = re.compile(r"timeout(_s)?|within(_s)?|patience(_s)?|seconds|longest_s")
ALWAYS_PATIENCE: Final = re.compile(r"within_s|patience_s")
TIME_PLACES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("wait", "join", "result", "settimeout"), 0),
    **dict.fromkeys(("create_connection", "wait_for"), 1),
    "select": 3,
}
"""The place of the time among the arguments of functions that have one there."""
TIMES_OUT: Final = re.compile(r"Timeout|Empty")
"""Errors of waits for events that do not happen: these may be short."""
ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

Constants = Mapping[str, float]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Rule(StrEnum):
    """The breach, and its remedy."""

    BOUND = (
        "an elapsed time has a constant as its upper bound; a slow machine breaks it:"
        " assert what happened instead, or mark the test measured"
    )
    SLEEP = (
        "a sleep of more than 50 ms decides by luck: wait for the event in a loop, or give a clock that a test moves"
    )
    PATIENCE = (
        "less than 30 s to wait for what happens; a busy machine takes longer: give it minutes, they cost nothing"
    )


@dataclass(frozen=True, order=True)
class Breach:
    """A line that breaks a rule."""

    line: int
    rule: Rule


def breaches(source: str) -> list[Breach]:
    """Find the breaches in a module of tests, in the order of its lines."""
    module = ast.parse(source)
    if any(_marks_measured(statement) for statement in module.body):
        return []
    # Most modules read no clock, and need no search.
    measuring = frozenset(_names_of_measuring(module)) if _reads_clock(module) else frozenset()
    reader = _Reader(_constants(module), measuring, _reads_clock(module))
    reader.read(module, frozenset(), awaited=True)
    return sorted(set(reader.found))


class _Reader:
    """Walks through a module."""

    def __init__(self, constants: Constants, measuring: frozenset[str], reads_clock: bool) -> None:
        """Take the facts about the module.

        Parameters
        ----------
        constants
            The numbers that its names stand for.
        measuring
            Its functions that return an elapsed time.
        reads_clock
            Whether there is a clock in it at all.
        """
        self.found: list[Breach] = []
        self._constants = constants
        self._measuring = measuring
        self._reads_clock = reads_clock

    def read(self, node: ast.AST, times: frozenset[str], *, awaited: bool) -> None:
        """Find the breaches in a node.

        Parameters
        ----------
        times
            The names that hold an elapsed time in the function around.
        awaited
            Whether the awaited event is expected.
        """
        if isinstance(node, Function | ast.ClassDef) and any(map(_is_measured, node.decorator_list)):
            return
        if isinstance(node, Function):
            if self._reads_clock:
                times = times | frozenset(_names_of_times(node, self._measuring))
            self.found += _impatient_defaults(node, self._constants)
        elif isinstance(node, ast.With | ast.AsyncWith):
            awaited = awaited and not any(map(_expects_a_timeout, node.items))
        elif isinstance(node, ast.Call):
            self.found += _breaches_of_call(node, self._constants, awaited=awaited)
        elif isinstance(node, ast.Compare) and _bounds_a_time(node, self._constants, self._measuring, times):
            self.found.append(Breach(node.lineno, Rule.BOUND))
        elif isinstance(node, ast.BinOp) and awaited and _is_near_deadline(node, self._constants):
            self.found.append(Breach(node.lineno, Rule.PATIENCE))
        for child in ast.iter_child_nodes(node):
            # A loop that runs until a deadline is not a verdict on the time.
            if not (isinstance(node, ast.While) and child is node.test and isinstance(child, ast.Compare)):
                self.read(child, times, awaited=awaited)


def _is_near_deadline(node: ast.BinOp, constants: Constants) -> bool:
    sides = (node.left, node.right)
    return (
        isinstance(node.op, ast.Add)
        and any(_is_clock(side, TICKING) for side in sides)
        and any(_impatient(side, constants) for side in sides)
    )


def _breaches_of_call(call: ast.Call, constants: Constants, *, awaited: bool) -> Iterator[Breach]:
    name = _name(call.func)
    first = _value(call.args[0], constants) if call.args else None
    if name == "sleep" and first is not None and first > LONGEST_PAUSE_S:
        yield Breach(call.lineno, Rule.SLEEP)
    if not awaited or name == "sleep":
        return
    waits, asks = PATIENT_FUNCTION.search(name), ASKING_FUNCTION.fullmatch(name)
    for keyword in call.keywords:
        given = keyword.arg or ""
        counts = (
            (waits and PATIENCE.fullmatch(given)) or (asks and given == "timeout") or ALWAYS_PATIENCE.fullmatch(given)
        )
        if counts and _impatient(keyword.value, constants):
            yield Breach(keyword.value.lineno, Rule.PATIENCE)
    place = TIME_PLACES.get(name)
    if place is not None and len(call.args) > place and _impatient(call.args[place], constants):
        yield Breach(call.lineno, Rule.PATIENCE)


def _impatient_defaults(function: Function, constants: Constants) -> Iterator[Breach]:
    """Find a short default patience of a function that waits."""
    if not PATIENT_FUNCTION.search(function.name):
        return
    named = function.args
    places = [*named.posonlyargs, *named.args]
    defaults = [*zip(places[len(places) - len(named.defaults) :], named.defaults, strict=True)]
    defaults += [(one, value) for one, value in zip(named.kwonlyargs, named.kw_defaults, strict=True) if value]
    for argument, value in defaults:
        if PATIENCE.fullmatch(argument.arg) and _impatient(value, constants):
            yield Breach(value.lineno, Rule.PATIENCE)


def _impatient(value: ast.expr, constants: Constants) -> bool:
    """Whether that is too short to wait for an event; a mere pause waits for none."""
    number = _value(value, constants)
    return number is not None and LONGEST_PAUSE_S < number < LEAST_PATIENCE_S


def _bounds_a_time(
    compared: ast.Compare, constants: Constants, measuring: frozenset[str], times: frozenset[str]
) -> bool:
    sides = [compared.left, *compared.comparators]
    for left, comparison, right in zip(sides, compared.ops, sides[1:], strict=False):
        if isinstance(comparison, ast.Lt | ast.LtE):
            lower, upper = left, right
        elif isinstance(comparison, ast.Gt | ast.GtE):
            lower, upper = right, left
        elif isinstance(comparison, ast.Eq):
            lower, upper = (right, left) if _is_approximate(left) else (left, right)
            if not _is_approximate(upper):
                continue
            upper = upper.args[0] if isinstance(upper, ast.Call) and upper.args else upper
        else:
            continue
        if _is_constant(upper, constants) and _holds_a_time(lower, measuring, times):
            return True
    return False


def _holds_a_time(node: ast.AST, measuring: frozenset[str], times: frozenset[str]) -> bool:
    """Whether an expression is made of an elapsed time or of CPU time."""
    return any(_is_a_time(part, measuring, times) for part in ast.walk(node))


def _is_a_time(node: ast.AST, measuring: frozenset[str], times: frozenset[str]) -> bool:
    match node:
        case ast.BinOp(left, ast.Sub(), right):
            return _reads_clock(left) or _reads_clock(right)
        case ast.Call(function):
            return _name(function) in measuring
        case ast.Name(name):
            return name in times
        case ast.Attribute(_, name):
            return name in CPU_TIMES
    return False


def _names_of_times(function: Function, measuring: frozenset[str]) -> Iterator[str]:
    """Find the names to which a function gives elapsed times."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
            targets, value = [node.target], node.value
        else:
            continue
        if _holds_a_time(value, measuring, frozenset()):
            yield from (one.id for one in targets if isinstance(one, ast.Name) and TIME_NAME.search(one.id))


def _names_of_measuring(module: ast.Module) -> Iterator[str]:
    """Find the functions of a module that return an elapsed time."""
    for function in ast.walk(module):
        if isinstance(function, Function):
            times = frozenset(_names_of_times(function, frozenset()))
            returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
            if any(_holds_a_time(value, frozenset(), times) for value in returned):
                yield function.name


def _constants(module: ast.Module) -> dict[str, float]:
    """Read the numbers that a module gives upper-case names."""
    found: dict[str, float] = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value:
            targets, value = [statement.target], statement.value
        else:
            continue
        number = _value(value, found)
        for target in targets:
            if isinstance(target, ast.Name) and CONSTANT_NAME.fullmatch(target.id) and number is not None:
                found[target.id] = number
    return found


def _value(node: ast.expr, constants: Constants) -> float | None:
    """Return the value of an expression; None if it is not in the source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _value(node.operand, constants)
        return None if number is None else -number
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left, right = _value(node.left, constants), _value(node.right, constants)
        if left is not None and right is not None and (right or not isinstance(node.op, ast.Div)):
            return ARITHMETIC[type(node.op)](left, right)
    return None


def _is_constant(node: ast.expr, constants: Constants) -> bool:
    """Whether an expression is made of numbers and upper-case names alone, of this module or of others."""
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left, constants) and _is_constant(node.right, constants)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return _value(node, constants) is not None or CONSTANT_NAME.fullmatch(name) is not None


def _is_approximate(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == "approx"


def _is_clock(node: ast.AST, clocks: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and not node.args and _name(node.func) in clocks


def _reads_clock(node: ast.AST) -> bool:
    return any(_is_clock(part, CLOCKS) for part in ast.walk(node))


def _name(function: ast.expr) -> str:
    """Return the last part of a function's name."""
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _expects_a_timeout(item: ast.withitem) -> bool:
    """Whether a block expects the error of a wait in vain."""
    call = item.context_expr
    return (
        isinstance(call, ast.Call)
        and _name(call.func) == "raises"
        and any(
            TIMES_OUT.search(_name(part)) for one in call.args for part in ast.walk(one) if isinstance(part, ast.expr)
        )
    )


def _marks_measured(statement: ast.stmt) -> bool:
    """Whether a statement marks its whole module."""
    if not isinstance(statement, ast.Assign):
        return False
    named = any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in statement.targets)
    marks = statement.value.elts if isinstance(statement.value, ast.List | ast.Tuple) else [statement.value]
    return named and any(map(_is_measured, marks))


def _is_measured(mark: ast.expr) -> bool:
    return ast.unparse(mark.func if isinstance(mark, ast.Call) else mark) == "pytest.mark.measured"
