"""Which subjects there are: every folder with a ``subject.toml``, built in or added with ``--subjects``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from httpdyno.errors import InvalidSubject, UnknownName, suggestion
from httpdyno.model import Subject, SubjectKind
from httpdyno.subjects.definition import read_subject
from httpdyno.subjects.folders import SUBJECT_FILE, builtin_folder, subject_folders

__all__ = ["Catalogue", "read_catalogue"]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All subjects that were found, and the folders that could not be read.

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
        """Return the clients that are measured without a word: those of the headline, and those that were added.

        Every client when none of them is there.
        """
        wanted = {*headline, *self.added}
        clients = self.of_kind(SubjectKind.CLIENT)
        return tuple(subject for subject in clients if subject.id in wanted) or clients

    def select(self, names: Iterable[str], fitting: SubjectKind | None = None) -> tuple[Subject, ...]:
        """Return the named subjects, in the order of the names; a name that comes twice counts once.

        ``fitting`` is what was probably meant by a name that nobody has; one of another kind is returned all the same.
        """
        return tuple(self._one(name, fitting) for name in dict.fromkeys(names))

    def select_of_kind(
        self, names: Iterable[str], kind: SubjectKind, *, instead: Mapping[SubjectKind, str] = MappingProxyType({})
    ) -> tuple[Subject, ...]:
        """Return the named subjects for what only one kind can do; refuse those of another kind.

        ``instead`` is the verb that takes one of another kind.
        """
        chosen = self.select(names, kind)
        for subject in chosen:
            if subject.kind is not kind:
                see = instead.get(subject.kind, "subjects list")
                raise UnknownName(f"{subject.id} is a {subject.kind}; this takes a {kind}, see: httpdyno {see}")
        return chosen

    def claimants(self, names: Iterable[str]) -> tuple[Subject, ...]:
        """Return the named subjects, or every client and server: those whose claims can be put to the test.

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
                # Nobody can say which is meant; the subjects of other names go on.
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
