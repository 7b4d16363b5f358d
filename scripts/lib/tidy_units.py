#!/usr/bin/env python3
"""Lists what clang-tidy has to read: `HASH FILE` a line, for the folders and sources given.

  tidy_units.py [--changed] PATH...

--changed: only units that include one of the files named on standard input, directly or not.

A folder stands for its translation units as the `tidy` build compiles them, several sources as one where
the build does so: headers are then read once for all of them. A source stands for itself. HASH covers the
text of the unit, of every header of ours that it includes, directly or not, and of .clang-tidy: a unit
whose hash was found clean before is clean.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "tidy"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class Hashes:
    """Hashes of files together with all that they include."""

    def __init__(self):
        self._roots = [ROOT / "src", ROOT, *BUILD.glob("src/*/generated")]
        self._includes = {}

    def _included(self, path):
        if path not in self._includes:
            found = []
            for name in INCLUDE.findall(path.read_bytes()):
                places = [path.parent, *self._roots]
                target = next((p / name.decode() for p in places if (p / name.decode()).is_file()), None)
                if target is not None:
                    found.append(target.resolve())
            self._includes[path] = found
        return self._includes[path]

    def parts(self, path):
        """The file and everything of ours that it includes."""
        seen, waiting = set(), [path]
        while waiting:
            file = waiting.pop()
            if file not in seen:
                seen.add(file)
                waiting.extend(self._included(file))
        return sorted(seen)

    def of(self, path, rules):
        digest = hashlib.sha256(rules)
        for file in self.parts(path):
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()[:24]


def units(arguments):
    """The files to read: of a folder the units that its sources are compiled as."""
    compiled = {Path(entry["file"]) for entry in json.loads((BUILD / "compile_commands.json").read_text())}
    for argument in map(Path, arguments):
        path = (ROOT / argument).resolve()
        if path.is_file():
            yield path
            continue
        below = [path, BUILD / path.relative_to(ROOT)]
        yield from sorted(f for f in compiled if any(f.is_relative_to(b) for b in below)
                          and f.parent.name != "pch")


def main():
    arguments = sys.argv[1:]
    only_changed = arguments[:1] == ["--changed"]
    changed = {(ROOT / line.strip()).resolve() for line in sys.stdin} if only_changed else set()
    rules = (ROOT / ".clang-tidy").read_bytes()
    everything = not only_changed or ROOT / ".clang-tidy" in changed
    hashes = Hashes()
    for unit in units(arguments[1:] if only_changed else arguments):
        if everything or not changed.isdisjoint(hashes.parts(unit)):
            print(hashes.of(unit, rules), unit)


main()
