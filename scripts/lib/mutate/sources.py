"""Which sources are mutated, and all mutants of them. What clang says is kept until a source changes."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from mutate import kinds, mutant, syntax
from mutate.mutant import Mutant, Swap, Wrap

# Folder, its namespace, and its unit tests. A folder that does not exist is passed over.
FOLDERS = [
    ("src/core", "vortex::core", "test_core"),
    ("src/agent", "vortex::agent", "test_agent"),
    ("src/engine", "vortex::engine", "test_engine"),
]
# Holds nothing but planted bugs: copied as it is.
EXCEPT = {"src/core/planted_core.cc"}


def sources(root):
    """(file, namespace) of all sources."""
    found = []
    for folder, namespace, _ in FOLDERS:
        for path in sorted((root / folder).rglob("*.cc")):
            found.append((path.relative_to(root).as_posix(), namespace))
    return found


def find_mutants(file, source, root, namespace, headers=None):
    """All mutants of one source, numbered."""
    finder = kinds.Finder(file, source)
    for node in syntax.parse(file, root, namespace, headers):
        finder.visit(node)
    finder.mutants.sort(key=lambda m: (m.begin, -m.end))
    mutant.number(finder.mutants)
    return finder.mutants


def _to_json(found):
    def edit(e):
        return [type(e).__name__, *asdict(e).values()]
    return [{**asdict(m), "edits": [edit(e) for e in m.edits]} for m in found]


def _from_json(rows):
    made = {"Wrap": Wrap, "Swap": Swap}
    return [Mutant(**{**row, "edits": [made[e[0]](*e[1:]) for e in row["edits"]]}) for row in rows]


class Collection:
    """All sources with their mutants."""

    def __init__(self, root, cache):
        self.root, self.cache = root, cache
        self.text = {}
        self.mutants = {}

    def read(self, jobs, tell):
        listed = sources(self.root)
        salt = self._salt()
        self.cache.mkdir(parents=True, exist_ok=True)
        places = {}
        for file, _ in listed:
            self.text[file] = (self.root / file).read_bytes()
            digest = hashlib.sha1(salt + file.encode() + b"\0" + self.text[file])
            places[file] = self.cache / digest.hexdigest()[:20]
        new = [(file, space) for file, space in listed if not places[file].exists() and file not in EXCEPT]
        if new:
            tell(f"reading {len(new)} sources")
            self._read_new(new, places, jobs)
        for file, _ in listed:
            known = places[file].exists()
            self.mutants[file] = _from_json(json.loads(places[file].read_text())) if known else []
        for stale in set(self.cache.iterdir()) - set(places.values()):
            stale.unlink()
        self._must_differ()

    def _read_new(self, new, places, jobs):
        folders = {Path(file).parent.as_posix() for file, _ in new}
        headers = {folder: self.cache / f"{Path(folder).name}.pch" for folder in folders}

        def one(entry):
            file, namespace = entry
            found = find_mutants(file, self.text[file], self.root, namespace,
                                 headers[Path(file).parent.as_posix()])
            places[file].write_text(json.dumps(_to_json(found)))

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda folder: syntax.read_headers(self.root, folder, headers[folder]), folders))
            list(pool.map(one, new))

    def _salt(self):
        """Changes with every header of the sources and with what finds the mutants."""
        digest = hashlib.sha1()
        for path in sorted((self.root / "src").rglob("*.h")):
            if path.relative_to(self.root / "src").parts[0] in ("base", "model", "core", "agent", "engine"):
                digest.update(path.read_bytes())
        for name in ("kinds.py", "expressions.py", "mutant.py", "syntax.py"):
            digest.update((Path(__file__).parent / name).read_bytes())
        return digest.digest()

    def _must_differ(self):
        seen = {}
        for found in self.mutants.values():
            for m in found:
                if m.id in seen:
                    raise RuntimeError(f"two mutants have the number {m.id}: {m.describe()}, {seen[m.id]}")
                seen[m.id] = m.describe()
