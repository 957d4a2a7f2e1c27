"""The known subjects: every ``subject.toml``, read and checked, and the table of all subjects."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from httpdyno.errors import HttpdynoError, InvalidSubject, UnknownName, suggestion
from httpdyno.model import Capabilities, Cell, Column, KnownFailure, Need, Note, Profile, Subject, SubjectKind, Table
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
"""Form of a value in TOML, by the type of pydantic's error."""


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
    methods: bool = False
    endpoints: list[Literal["plain", "json", "workloads", "timeout"]] = []
    threads: Literal["any", "one"] | None = None
    workers: Literal["any", "one"] | None = None


class _KnownFailure(_Section):
    case: _Text
    reason: _Text
    issue: str = ""


class _Profile(_Section):
    name: Annotated[str, Field(pattern="^[a-z0-9]+$")]
    argv: _Argv


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
    profile: list[_Profile] = []


_SHARED: Final = {"language", "method", "concurrency", "unavailable", "json_parser", "request_ms"}
"""The keys that a ``Subject`` has, too."""


def read_subject(folder: Path) -> Subject:
    """Read the ``subject.toml`` of a folder; the folder's name is the subject's id."""
    path = folder / SUBJECT_FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        return _subject(folder, _Definition.model_validate(values))
    except ValidationError as error:
        # A misspelt key is also a missing one; the error of the misspelt key is clearer.
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
    commands = ("run", "open", "content", "sequence", "build", "version")
    argv = {name: tuple(command.argv) if (command := getattr(definition, name)) else () for name in commands}
    shared: dict[str, Any] = {f"{name}_argv": argv[name] for name in commands}
    shared |= definition.model_dump(include=_SHARED)
    if definition.kind == "tool":
        for section in ("run", "open", "sequence", "content"):
            check_template(argv[section], section=section)
    claims: dict[str, Any] = {
        name: tuple(claim) if isinstance(claim, list) else "" if claim is None else claim
        for name, claim in definition.capabilities
    }
    return Subject(
        id=folder.resolve().name,
        kind=SubjectKind(definition.kind),
        folder=folder.resolve(),
        needs=tuple(Need(program, version) for program, version in definition.needs.items()),
        capabilities=Capabilities(**claims),
        known_failures=tuple(KnownFailure(**dict(failure)) for failure in definition.known_failure),
        profiles=tuple(Profile(one.name, tuple(one.argv)) for one in definition.profile),
        environment=dict(definition.run.environment) if definition.run else {},
        report_parser=definition.report.parser if definition.report else "",
        open_counts_from_due=definition.open is not None and definition.open.counts_from_due,
        sequence_close_argv=tuple((definition.sequence.close_argv or ()) if definition.sequence else ()),
        **shared,
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
        form = f"tables, each under [[{key}]]" if key in {"known_failure", "profile"} else _FORMS[detail["type"]]
        wanted = f"must be {form.format(key)}"
    else:
        wanted = f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
    return f"{key}: {wanted}, not {detail['input']!r}"


def _known_keys(location: list[str]) -> list[str]:
    section: type[BaseModel] = _Definition
    for name in location:
        kind = section.model_fields[name].annotation
        section = next(one for one in (*get_args(kind), kind) if isinstance(one, type) and issubclass(one, _Section))
    return sorted(section.model_fields)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All subjects, and the errors of folders that could not be read.

    One folder with a mistake does not stop the others: its error is raised when that subject is selected.
    """

    subjects: Mapping[str, Subject]
    invalid: Mapping[str, InvalidSubject] = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    """Ids of subjects that do not come with httpdyno, including those that could not be read."""

    def of_kind(self, kind: SubjectKind) -> tuple[Subject, ...]:
        """Return the subjects of one kind, in the order of their ids."""
        return tuple(self.subjects[name] for name in sorted(self.subjects) if self.subjects[name].kind is kind)

    def usual(self, headline: Iterable[str]) -> tuple[Subject, ...]:
        """Return the clients that are measured by default: ``headline`` and the added ones.

        If none of them exists, return every client.
        """
        wanted = {*headline, *self.added}
        clients = self.of_kind(SubjectKind.CLIENT)
        return tuple(subject for subject in clients if subject.id in wanted) or clients

    def select(self, names: Iterable[str], fitting: SubjectKind | None = None) -> tuple[Subject, ...]:
        """Return the named subjects, in the order of the names, each once.

        ``fitting`` is the kind of subjects that are suggested for an unknown name; subjects of all kinds are returned.
        """
        chosen = []
        for name in dict.fromkeys(names):
            if name in self.invalid:
                raise self.invalid[name]
            if name not in self.subjects:
                known = [one.id for one in self.subjects.values() if fitting in (None, one.kind)]
                kind = fitting or "subject"
                there = f"there are {len(known)} {kind}s, see: httpdyno subjects list"
                hint = suggestion(name, known, otherwise=there)
                raise UnknownName(f"{name[:200]!r}: there is no such {kind}; {hint}")
            chosen.append(self.subjects[name])
        return tuple(chosen)

    def select_of_kind(
        self, names: Iterable[str], *kinds: SubjectKind, instead: Mapping[SubjectKind, str] = MappingProxyType({})
    ) -> tuple[Subject, ...]:
        """Return the named subjects of one of the kinds; raise for those of another kind.

        ``instead`` has the verb for each other kind.
        """
        chosen = self.select(names, kinds[0] if len(kinds) == 1 else None)
        for subject in chosen:
            if subject.kind not in kinds:
                takes, see = " or ".join(f"a {kind}" for kind in kinds), instead.get(subject.kind, "subjects list")
                raise UnknownName(f"{subject.id} is a {subject.kind}; name {takes}, see: httpdyno {see}")
        return chosen

    def with_profiles(self, names: Iterable[str]) -> tuple[Subject, ...]:
        """Return the named clients, by default every client, each followed by its profiles.

        A name may also be that of a profile alone, ``native-tolerant``.
        """
        clients = self.of_kind(SubjectKind.CLIENT)
        profiles = {profile.id: profile for client in clients for profile in client.in_profiles()}
        chosen: list[Subject] = []
        for name in tuple(names) or [client.id for client in clients]:
            if name in profiles and name not in self.subjects:
                chosen.append(profiles[name])
            else:
                (client,) = self.select_of_kind([name], SubjectKind.CLIENT)
                chosen += (client, *client.in_profiles())
        return tuple({one.id: one for one in chosen}.values())

    def claimants(self, names: Iterable[str]) -> tuple[Subject, ...]:
        """Return the named subjects, by default every client and server; tools have no claims."""
        kinds = (SubjectKind.CLIENT, SubjectKind.SERVER)
        return self.select_of_kind(names, *kinds) or tuple(one for kind in kinds for one in self.of_kind(kind))


def read_catalogue(extra: Iterable[Path] = ()) -> Catalogue:
    """Read the built-in subjects and those of further folders: each is a subject, or has some up to two levels deep.

    A given folder without a subject is an error; a subject that cannot be read is kept among the invalid ones.
    """
    builtin = builtin_folder()
    found: dict[str, Path] = {}
    invalid: dict[str, InvalidSubject] = {}
    for top in (builtin, *extra):
        folders = subject_folders(top)
        if not folders and top != builtin:
            raise InvalidSubject(
                f"{top}: no {SUBJECT_FILE} in this folder, nor one or two levels below; name a folder with a subject"
            )
        for folder in folders:
            name = folder.resolve().name
            first = found.setdefault(name, folder)
            if first.resolve() != folder.resolve():
                # The name is ambiguous, so both are refused; other subjects are kept.
                clash = f"two subjects have the name {name!r}: {first} and {folder}; rename one of the folders"
                invalid[name] = InvalidSubject(clash)
    subjects: dict[str, Subject] = {}
    for name, folder in found.items():
        try:
            if name not in invalid:
                subjects[name] = read_subject(folder)
        except InvalidSubject as error:
            invalid[name] = error
    return Catalogue(
        subjects, invalid, frozenset(name for name, folder in found.items() if not folder.is_relative_to(builtin))
    )


_COLUMNS: Final = (
    Column("id", description="name of the subject's folder"),
    Column("kind", description="client, tool or server"),
    Column("language", dispensable=True),
    Column("method", description="library or program"),
    Column("version", description="of the library, once it is built", dispensable=True),
    Column("state", description="available or unavailable"),
    Column("reason", description="why it is unavailable", shown=False),
)


def subjects_table(catalogue: Catalogue, cache: Path) -> Table:
    """List every subject by its id, also invalid ones; notes have the reasons of unavailable ones."""
    rows: list[tuple[Cell, ...]] = [
        (name, None, None, None, None, "unavailable", error.line) for name, error in catalogue.invalid.items()
    ]
    for one in catalogue.subjects.values():
        unavailable = why_unavailable(one)
        reason = unavailable.line if unavailable else None
        build = None if reason else find_build(one, cache)
        # The full version is in the records of a run; here the column has no room for it.
        version = build.version.split()[0] if build and build.version else None
        state = "unavailable" if reason else "available"
        rows.append((one.id, str(one.kind), one.language, one.method, version, state, reason))
    rows.sort(key=lambda row: str(row[0]))
    return Table(_COLUMNS, tuple(rows), notes=tuple(Note(str(reason)) for *_, reason in rows if reason))
