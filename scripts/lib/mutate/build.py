"""Builds the programs that hold all mutants, and leaves out those that do not compile."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from mutate.copy import Copy
from mutate.sources import FOLDERS

SIMULATOR = "vortex-sim"
_ROUNDS = 12


class Build:
    def __init__(self, root, preset, jobs):
        self.root, self.preset, self.jobs = root, preset, jobs
        self.folder = root / "build" / preset
        self.copies = self.folder / "mutants" / "src"
        self.refused_file = self.folder / "mutants" / "refused.txt"
        self.refused = set()
        self.made = {}
        self.frozen, self.fingerprint = None, ""

    def programs(self):
        """Names of the unit tests that exist."""
        return [test for folder, _, test in FOLDERS if (self.root / folder).is_dir()
                and (self.root / "tests" / Path(folder).name).is_dir()]

    def path(self, program):
        return self.frozen / program

    def freeze(self):
        """Takes copies of the programs: whoever builds meanwhile changes nothing about this run."""
        digest = hashlib.sha1()
        built = {p: self.folder / "bin" / f"{p}_mutants" for p in [*self.programs(), SIMULATOR]}
        for path in built.values():
            digest.update(path.read_bytes())
        self.fingerprint = digest.hexdigest()[:16]
        self.frozen = Path(tempfile.mkdtemp(prefix="run-", dir=self.folder / "mutants"))
        for program, path in built.items():
            shutil.copy2(path, self.frozen / program)

    def thaw(self):
        if self.frozen is not None:
            shutil.rmtree(self.frozen)

    def _run(self, command):
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True)

    def write_copies(self, collection):
        wanted = set()
        for file, found in collection.mutants.items():
            place = self.copies / Path(file).relative_to("src")
            wanted.add(place)
            copy = Copy(collection.text[file], [m for m in found if m.id not in self.refused])
            self.made[str(place)] = copy
            # Untouched when nothing changed, so that nothing is compiled again.
            if not place.exists() or place.read_bytes() != copy.text:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(copy.text)
        for stale in self.copies.rglob("*.cc"):
            if stale not in wanted:
                stale.unlink()

    def known_refused(self):
        """What did not compile the last time."""
        return set(self.refused_file.read_text().split()) if self.refused_file.exists() else set()

    def make(self, collection, tell):
        """Writes the copies and compiles until all that is left of the mutants compiles."""
        self.refused = self.known_refused()
        self.refused &= {m.id for found in collection.mutants.values() for m in found}
        self.write_copies(collection)
        configured = self._run(["cmake", "--preset", self.preset, "-DVX_MUTANTS=ON"])
        if configured.returncode != 0:
            raise RuntimeError("cmake failed\n" + configured.stderr)
        targets = [f"{p}_mutants" for p in [*self.programs(), SIMULATOR]]
        for _ in range(_ROUNDS):
            built = self._run(["cmake", "--build", f"build/{self.preset}", "--",
                               f"-j{self.jobs}", "-k", "0", *targets])
            if built.returncode == 0:
                self.refused_file.write_text("\n".join(sorted(self.refused)) + "\n")
                return
            wrong = self._at_fault(built.stdout)
            if not wrong:
                raise RuntimeError("the mutants do not build\n" + built.stdout[-8000:])
            tell(f"{len(wrong)} mutants do not compile and are left out")
            self.refused |= wrong
            self.write_copies(collection)
        raise RuntimeError(f"the mutants do not build after {_ROUNDS} rounds")

    def _at_fault(self, output):
        """The mutants that errors point at: for each the first place in a copy that it mentions."""
        wrong, block, has_error = set(), [], False

        def judge():
            for file, line, column in block:
                copy = self.made.get(file)
                if copy is None:
                    continue
                id = copy.at(line, column)
                if id is not None:
                    wrong.add(id)
                    return
            for file, line, _ in block:
                touching = self.made[file].on_line(line) if file in self.made else []
                if touching:
                    wrong.update(touching)
                    return

        for text in output.splitlines():
            place = re.match(r"(\S+?\.(?:cc|h)):(\d+):(\d+):\s+(.*)", text)
            if not place:
                continue
            entry = (place[1], int(place[2]), int(place[3]))
            starts = place[4].startswith(("error", "fatal error"))
            if starts and has_error:
                judge()
                block, has_error = [], False
            has_error = has_error or starts
            block.append(entry)
        if has_error:
            judge()
        return wrong
