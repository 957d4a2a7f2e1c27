"""Lists of values as people write them: ``0,100KiB,...,500KiB``, ``1gbit..10gbit``, ``200..1000``."""

from collections.abc import Callable
from typing import Final

from httpdyno.errors import InvalidValue

__all__ = ["MOST_VALUES", "parse_values"]

MOST_VALUES: Final = 10_000
"""Of one list: what has more is a slip of the pen."""
_GOES_ON: Final = "..."
_RANGE: Final = ".."


def parse_values(text: str, read: Callable[[str], int], *, name: str) -> tuple[int, ...]:
    """Read a list of values.

    ``A,B,...,Z`` goes on in the step from A to B, up to Z; ``A..Z`` goes from A to Z in steps of A. Either has to come
    to Z, so that nobody measures another list than the one that was meant.

    They come back rising. A value that is there twice is refused, and more than ``MOST_VALUES`` of them.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InvalidValue(f"{name}: {text[:60]!r} is not understood; write values with commas between them")
    values: list[int] = []
    for place, part in enumerate(parts):
        if part == _GOES_ON:
            values += _between(values, place, parts, read, name)
        elif _RANGE in part:
            values += _range(part, read, name)
        else:
            values.append(read(part))
        if len(values) > MOST_VALUES:
            raise _too_many(name)
    if len(set(values)) != len(values):
        twice = next(part for part in parts if part != _GOES_ON)
        raise InvalidValue(f"{name}: {text[:60]!r} has a value twice ({twice} or one after it); give each of them once")
    return tuple(sorted(values))


def _between(values: list[int], place: int, parts: list[str], read: Callable[[str], int], name: str) -> list[int]:
    """Return what stands between the values before ``...`` and the one after it."""
    if place < 2 or place + 1 >= len(parts) or len(values) < 2 or _GOES_ON in (parts[place - 1], parts[place + 1]):
        raise InvalidValue(f"{name}: {_GOES_ON} needs two values before it and one after it, as in 0,100,...,500")
    before, last, end = values[-2], values[-1], read(parts[place + 1])
    step = last - before
    if step <= 0 or end <= last or (end - last) % step:
        shown = ",".join(parts[place - 2 : place + 2])
        raise InvalidValue(
            f"{name}: {shown} never comes to {parts[place + 1]} in the step of the two values before it;"
            " write an end that it comes to"
        )
    if (end - last) // step > MOST_VALUES:
        raise _too_many(name)
    return list(range(last + step, end, step))


def _range(part: str, read: Callable[[str], int], name: str) -> list[int]:
    first, _, last = part.partition(_RANGE)
    if not first.strip() or not last.strip() or last.startswith("."):
        raise InvalidValue(f"{name}: {part[:60]!r} is not understood; write a range like 200..1000")
    begin, end = read(first.strip()), read(last.strip())
    if begin <= 0 or end <= begin or end % begin:
        raise InvalidValue(
            f"{name}: {part} never comes to {last.strip()} in steps of {first.strip()}; "
            f"write {first.strip()},...,{last.strip()} with the second value, too"
        )
    if end // begin > MOST_VALUES:
        raise _too_many(name)
    return list(range(begin, end + 1, begin))


def _too_many(name: str) -> InvalidValue:
    return InvalidValue(f"{name}: a list has at most {MOST_VALUES:,} values; make the steps larger")
