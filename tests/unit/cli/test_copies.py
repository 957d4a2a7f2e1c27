"""Two copies of one client have different names in every output."""

from pathlib import Path

from conftest import MakeSubject
from doubles.command_line import Command


def test_copies_have_their_ids_in_tables_for_people(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    for name in ("mine", "theirs"):
        definition = make_subject(name) / "subject.toml"
        text = definition.read_text(encoding="utf-8").replace(f'"{name}"', '"same"')
        definition.write_text(text, encoding="utf-8")
    typed = ("bench", "mine", "theirs", "--subjects", str(subject_folders), "--limit", "4", "--repeat", "1")
    table = httpdyno(*typed).out
    assert ("same (mine)" in table, "same (theirs)" in table) == (True, True)
    assert {row["method"] for row in httpdyno(*typed, "--format", "json").rows} == {"same"}
