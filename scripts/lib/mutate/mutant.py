"""A mutant: a small mistake in one source, and how the copy of the source gets it.

Its number is made of what it changes and where (file, function, kind, text, how manieth of these), not
of a line, so it stays the same while the lines around it move.
"""

import hashlib
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wrap:
    """Text put around a piece of the source."""

    begin: int
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Swap:
    """A piece of the source that is replaced: an operator, a keyword."""

    begin: int
    end: int
    text: str


@dataclass
class Mutant:
    file: str
    function: str
    kind: str
    begin: int
    end: int
    line: int
    original: str
    mutated: str
    edits: list = field(default_factory=list)
    id: str = ""

    def describe(self):
        return f"{self.file}:{self.line} {self.id} {self.kind}: {self.original} -> {self.mutated}"


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def number(mutants):
    """Gives every mutant its number; `{id}` in its edits becomes that number."""
    seen, taken = {}, set()
    for mutant in mutants:
        key = "|".join((mutant.file, mutant.function, mutant.kind, mutant.original, mutant.mutated))
        seen[key] = seen.get(key, 0) + 1
        salt = f"{key}|{seen[key]}"
        while True:
            mutant.id = hashlib.sha1(salt.encode()).hexdigest()[:8]
            if mutant.id not in taken and int(mutant.id, 16) != 0:
                break
            salt += "+"
        taken.add(mutant.id)
