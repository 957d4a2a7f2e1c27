"""Parses the Dockerfile and .dockerignore, to the extent that this project uses them."""

import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import PurePosixPath

__all__ = ["Stage", "ignored", "read_stages"]


@dataclass
class Stage:
    """One stage: its base image and its steps in order."""

    image: str
    name: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list)
    """Instruction and arguments, such as ``("RUN", "scripts/build-wheel")``; continued lines are joined."""

    @property
    def entrypoint(self) -> list[str]:
        """Return the argv that a container starts."""
        return [str(word) for verb, words in self.steps if verb == "ENTRYPOINT" for word in json.loads(words)]


def read_stages(text: str) -> list[Stage]:
    """Read the stages of a Dockerfile."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    stages: list[Stage] = []
    for line in re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines():
        verb, _, words = line.partition(" ")
        if verb == "FROM":
            image, _, name = words.partition(" AS ")
            stages.append(Stage(image, name))
        else:
            stages[-1].steps.append((verb, words.strip()))
    return stages


def ignored(name: str, rules: list[str]) -> bool:
    """Return whether a file of the context is ignored; rules that include a file again (``!``) are not supported."""
    path = PurePosixPath(name)
    places = [str(place) for place in (path, *path.parents) if str(place) != "."]
    for rule in (rule.strip() for rule in rules):
        if not rule or rule.startswith("#"):
            continue
        anywhere = rule.removeprefix("**/")
        for place in places:
            if fnmatch(place, rule) or (anywhere != rule and fnmatch(PurePosixPath(place).name, anywhere)):
                return True
    return False
