"""The subjects there are: every ``subject.toml``, read and checked, and the table of all of them."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from httpdyno.errors import HttpdynoError, InvalidSubject, UnknownName, suggestion
from httpdyno.model import Capabilities, Cell, Column, KnownFailure, Need, Note, Subject, SubjectKind, Table
from httpdyno.subjects.build import find_build
from httpdyno.subjects.folders import SUBJECT_FILE, builtin_folder, subject_folders
from httpdyno.subjects.needs import check_name, parse_constraint, why_unavailable
from httpdyno.subjects.template import check_template

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
    """Describe the error of one key in one line, with the key that was probably meant."""
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


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All subjects, and the errors of folders that could not be read.

    One folder with a mistake does not stop the others: its error is raised when that subject is asked for.
    """

    subjects: Mapping[str, Subject]
    invalid: Mapping[str, InvalidSubject] = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    """Ids of those that do not come with httpdyno, also of the ones that could not be read."""

    def of_kind(self, kind: SubjectKind) -> tuple[Subject, ...]:
        """Return the subjects of one kind, in the order of their ids."""
        return tuple(self.subjects[name] for name in sorted(self.subjects) if self.subjects[name].kind is kind)

    def usual(self, headline: Iterable[str]) -> tuple[Subject, ...]:
        """Return the clients that are measured by default: those of the headline, and added ones.

        Every client when none of them is there.
        """
        wanted = {*headline, *self.added}
        clients = self.of_kind(SubjectKind.CLIENT)
        return tuple(subject for subject in clients if subject.id in wanted) or clients

    def select(self, names: Iterable[str], fitting: SubjectKind | None = None) -> tuple[Subject, ...]:
        """Return the named subjects, in the order of the names, each once.

        ``fitting`` is the kind that suggestions for an unknown name have; a subject of another kind is still returned.
        """
        return tuple(self._one(name, fitting) for name in dict.fromkeys(names))

    def select_of_kind(
        self, names: Iterable[str], kind: SubjectKind, *, instead: Mapping[SubjectKind, str] = MappingProxyType({})
    ) -> tuple[Subject, ...]:
        """Return the named subjects of one kind; raise for those of another kind.

        ``instead`` is the verb that takes one of another kind.
        """
        chosen = self.select(names, kind)
        for subject in chosen:
            if subject.kind is not kind:
                see = instead.get(subject.kind, "subjects list")
                raise UnknownName(f"{subject.id} is a {subject.kind}; this takes a {kind}, see: httpdyno {see}")
        return chosen

    def claimants(self, names: Iterable[str]) -> tuple[Subject, ...]:
        """Return the named subjects, or every client and server: those whose claims can be probed.

        A tool is refused: it claims nothing.
        """
        chosen = self.select(names) or (*self.of_kind(SubjectKind.CLIENT), *self.of_kind(SubjectKind.SERVER))
        for subject in chosen:
            if subject.kind is SubjectKind.TOOL:
                raise UnknownName(
                    f"{subject.id} is a tool; this takes a client or a server, see: httpdyno subjects list"
                )
        return chosen

    def _one(self, name: str, kind: SubjectKind | None = None) -> Subject:
        if name in self.invalid:
            raise self.invalid[name]
        if name in self.subjects:
            return self.subjects[name]
        fitting = [one.id for one in self.subjects.values() if kind is None or one.kind is kind]
        there = f"there are {len(fitting)} {kind or 'subject'}s, see: httpdyno subjects list"
        hint = suggestion(name, fitting, otherwise=there)
        raise UnknownName(f"{name[:200]!r}: there is no such {kind or 'subject'}; {hint}")


def read_catalogue(extra: Iterable[Path] = ()) -> Catalogue:
    """Read the built-in subjects and those of further folders: of one subject, or of many, up to two levels deep.

    A given folder without a subject in it is refused; a subject that cannot be read is kept among the invalid ones.
    """
    found: dict[str, Path] = {}
    invalid: dict[str, InvalidSubject] = {}
    for top in (builtin_folder(), *extra):
        folders = subject_folders(top)
        if not folders and top != builtin_folder():
            raise InvalidSubject(
                f"{top}: there is no {SUBJECT_FILE} in it, nor one or two levels below;"
                " name a folder that holds a subject"
            )
        for folder in folders:
            name = folder.resolve().name
            first = found.setdefault(name, folder)
            if first.resolve() != folder.resolve():
                # Which one is meant is ambiguous; subjects of other names are kept.
                said = f"two subjects are called {name!r}: {first} and {folder}; rename one of the folders"
                invalid[name] = InvalidSubject(said)
    subjects: dict[str, Subject] = {}
    for name, folder in found.items():
        if name in invalid:
            continue
        try:
            subjects[name] = read_subject(folder)
        except InvalidSubject as error:
            invalid[name] = error
    builtin = builtin_folder()
    added = frozenset(name for name, folder in found.items() if not folder.is_relative_to(builtin))
    return Catalogue(subjects, invalid, added)


LISTING_COLUMNS: Final = (
    Column("id", description="name of the subject's folder"),
    Column("kind", description="client, tool or server"),
    Column("language", dispensable=True),
    Column("method", description="library or program"),
    Column("version", description="of the library, once it is built", dispensable=True),
    Column("state", description="available or unavailable"),
    Column("reason", description="why it is unavailable", shown=False),
)


def subjects_table(catalogue: Catalogue, cache: Path) -> Table:
    """List every subject by its id, also invalid ones; notes say why one is unavailable."""
    rows = {name: _row(subject, cache) for name, subject in catalogue.subjects.items()}
    rows |= {
        name: (name, None, None, None, None, "unavailable", error.line) for name, error in catalogue.invalid.items()
    }
    listed = tuple(rows[name] for name in sorted(rows))
    return Table(LISTING_COLUMNS, listed, notes=tuple(Note(str(reason)) for *_, reason in listed if reason))


def _row(subject: Subject, cache: Path) -> tuple[Cell, ...]:
    reason = why_unavailable(subject)
    build = None if reason else find_build(subject, cache)
    return (
        subject.id,
        str(subject.kind),
        subject.language,
        subject.method,
        # What it is built upon stands in the records of a run; here it would leave the column no room.
        build.version.split()[0] if build and build.version else None,
        "unavailable" if reason else "available",
        reason,
    )
