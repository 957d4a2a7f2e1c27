"""The form of ``subject.toml``: reads one and refuses what it does not know."""

import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from httpdyno.errors import HttpdynoError, InvalidSubject, suggestion
from httpdyno.model import Capabilities, KnownFailure, Need, Subject, SubjectKind
from httpdyno.subjects.folders import SUBJECT_FILE
from httpdyno.subjects.needs import check_name, parse_constraint
from httpdyno.subjects.template import check_template

__all__ = ["read_subject"]

_Argv = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
_Text = Annotated[str, Field(min_length=1)]
_FORMS: Final = {
    "model_type": "a table, under [{}]",
    "dict_type": "a table, under [{}]",
    "list_type": 'a list in brackets, such as ["a", "b"]',
    "string_type": "a text in quotes",
}
"""How TOML writes what is wanted, by what pydantic says of what is there."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Command(_Section):
    argv: _Argv


class _Run(_Command):
    environment: dict[str, str] = {}


class _Open(_Command):
    counts_from_due: bool = False


class _Report(_Section):
    parser: _Text


class _Capabilities(_Section):
    http: list[Literal["1.0", "1.1", "2", "3"]] = []
    keepalive: list[bool] = []
    check: list[Literal["json"]] = []
    harness: list[Literal["timeit"]] = []
    endpoints: list[Literal["plain", "json", "workloads", "timeout"]] = []
    threads: Literal["any", "one"] | None = None
    workers: Literal["any", "one"] | None = None


class _KnownFailure(_Section):
    case: _Text
    reason: _Text
    issue: str = ""


class _Sequence(_Section):
    argv: _Argv
    close_argv: _Argv | None = None


class _Definition(_Section):
    kind: Literal["client", "tool", "server"]
    language: _Text
    method: _Text
    concurrency: Annotated[int, Field(ge=1)] = 10
    json_parser: _Text = ""
    request_ms: float | None = None
    unavailable: str = ""
    needs: dict[str, str] = {}
    build: _Command | None = None
    run: _Run | None = None
    open: _Open | None = None
    content: _Command | None = None
    sequence: _Sequence | None = None
    report: _Report | None = None
    capabilities: _Capabilities = _Capabilities()
    version: _Command | None = None
    known_failure: list[_KnownFailure] = []


def read_subject(folder: Path) -> Subject:
    """Read the ``subject.toml`` of a folder; the folder's name is the subject's id."""
    path = folder / SUBJECT_FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        return _subject(folder, _Definition.model_validate(values))
    except ValidationError as error:
        # A misspelt key is also a missing one: the misspelling says more.
        details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
        raise InvalidSubject(f"{path}: {_explain(details[0])}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSubject(f"{path}: cannot be read: {error}") from error
    except HttpdynoError as error:
        raise InvalidSubject(f"{path}: {error}") from error


def _subject(folder: Path, definition: _Definition) -> Subject:
    for name, constraint in definition.needs.items():
        check_name(name)
        parse_constraint(constraint)
    if definition.run is None and not definition.unavailable:
        raise InvalidSubject("the key 'run' is missing; add [run] with the argv that starts it")
    if definition.kind == "tool":
        for section, command in (("run", definition.run), ("open", definition.open), ("sequence", definition.sequence)):
            check_template(command.argv if command else (), section=section)
        check_template(definition.content.argv if definition.content else (), section="content")
    return Subject(
        id=folder.resolve().name,
        kind=SubjectKind(definition.kind),
        language=definition.language,
        method=definition.method,
        folder=folder.resolve(),
        run_argv=tuple(definition.run.argv) if definition.run else (),
        concurrency=definition.concurrency,
        needs=tuple(Need(program, version) for program, version in definition.needs.items()),
        build_argv=tuple(definition.build.argv) if definition.build else (),
        version_argv=tuple(definition.version.argv) if definition.version else (),
        capabilities=Capabilities(
            http=tuple(definition.capabilities.http),
            keepalive=tuple(definition.capabilities.keepalive),
            check=tuple(definition.capabilities.check),
            harness=tuple(definition.capabilities.harness),
            endpoints=tuple(definition.capabilities.endpoints),
            threads=definition.capabilities.threads or "",
            workers=definition.capabilities.workers or "",
        ),
        known_failures=tuple(KnownFailure(**failure.model_dump()) for failure in definition.known_failure),
        environment=dict(definition.run.environment) if definition.run else {},
        unavailable=definition.unavailable,
        report_parser=definition.report.parser if definition.report else "",
        open_argv=tuple(definition.open.argv) if definition.open else (),
        open_counts_from_due=definition.open is not None and definition.open.counts_from_due,
        content_argv=tuple(definition.content.argv) if definition.content else (),
        sequence_argv=tuple(definition.sequence.argv) if definition.sequence else (),
        sequence_close_argv=tuple((definition.sequence.close_argv or ()) if definition.sequence else ()),
        json_parser=definition.json_parser,
        request_ms=definition.request_ms,
    )


def _explain(detail: ErrorDetails) -> str:
    """Describe in one line what is wrong with one key, and which key was probably meant."""
    location = [part for part in detail["loc"] if isinstance(part, str)]
    key = ".".join(location)
    if detail["type"] == "extra_forbidden":
        known = _known_keys(location[:-1])
        return f"unknown key {key!r}; {suggestion(location[-1], known)}"
    if detail["type"] == "missing":
        return f"the key {key!r} is missing"
    if detail["type"] in {"too_short", "string_too_short"}:
        return f"{key}: must not be empty"
    if detail["type"] in _FORMS:
        form = "tables, each under [[known_failure]]" if key == "known_failure" else _FORMS[detail["type"]]
        said = f"must be {form.format(key)}"
    else:
        said = f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
    return f"{key}: {said}, not {detail['input']!r}"


def _known_keys(section: list[str]) -> list[str]:
    sections: dict[tuple[str, ...], type[_Section]] = {
        (): _Definition,
        ("build",): _Command,
        ("run",): _Run,
        ("open",): _Open,
        ("content",): _Command,
        ("sequence",): _Sequence,
        ("report",): _Report,
        ("capabilities",): _Capabilities,
        ("version",): _Command,
        ("known_failure",): _KnownFailure,
    }
    return sorted(sections[tuple(section)].model_fields)
