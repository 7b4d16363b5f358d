#!/usr/bin/env python3
"""Tests what scripts/mutate makes of a small source: which mutants, and that each does what it says.

Needs clang++-19 and g++. Prints what differs and exits with 1 when something does.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
sys.dont_write_bytecode = True

from mutate import equivalent, sources  # noqa: E402
from mutate.copy import Copy  # noqa: E402

HEAD = """
#include <cstdio>
#include <vector>
#define VX_ASSERT(claim) (static_cast<bool>(claim) ? void(0) : __builtin_abort())
namespace vortex {
constexpr bool planted(int) { return false; }
}
namespace vortex::core {
struct Row { int paused; int epoch; };
struct Fence { int paused; int epoch; };
"""

# Each function with the mutants that it must have: kind, original, mutated.
SAMPLES = [
    ("int first(int a) { if (a > 2) return 1; return a; }",
     [("taken", "a > 2", "true"), ("not-taken", "a > 2", "false"), ("compare", "a > 2", "a >= 2"),
      ("constant", "2", "4"), ("constant", "1", "2")]),
    ("int both(bool a, bool b) { int n = 7; if (a && !b) { n = 5; } return n; }",
     [("constant", "7", "14"), ("logic", "a && !b", "a || !b"), ("negate", "a", "!(a)"),
      ("negate", "!b", "!(!b)"), ("drop", "n = 5;", "nothing"), ("constant", "5", "10")]),
    ("int steps(int n) { int out = n; for (int i = 0; i < n; ++i) out += 9 - i; return out; }",
     [("constant", "0", "1"), ("negate", "i < n", "!(i < n)"), ("compare", "i < n", "i <= n"),
      ("drop", "out += 9 - i;", "nothing"), ("arithmetic", "9 - i", "9 + i"), ("constant", "9", "18")]),
    ("bool is_off(bool on) { if (on) return false; return true; }",
     [("taken", "on", "true"), ("not-taken", "on", "false"), ("flip", "false", "true"),
      ("flip", "true", "false")]),
    ("Fence restore_fence(const Row& row) { Fence f{row.paused, 0}; f.epoch = row.epoch; return f; }",
     [("reload", "row.paused", "{}"), ("constant", "0", "1"), ("reload", "f.epoch = row.epoch;", "nothing")]),
    ("int kept(int a) { VX_ASSERT(a != 9); if (planted(3)) a = 4; return a == 6 || planted(1) ? a : -a; }",
     [("compare", "a == 6", "a != 6"), ("constant", "6", "12")]),
    ("int marks(std::vector<int> v) { if (v.empty()) VX_ASSERT(true); v.reserve(4); return v.empty(); }", []),
    ("constexpr int kMost = 3; int most(int a) { switch (a) { case 5: return 1; case 6: a = 8; break; "
     "default: a = 2; break; } return a + kMost; }",
     [("constant", "3", "6"), ("constant", "1", "2"), ("drop", "a = 8;", "nothing"), ("constant", "8", "16"),
      ("drop", "a = 2;", "nothing"), ("constant", "2", "4"),
      ("drop", "break;", "nothing"), ("arithmetic", "a + kMost", "a - kMost")]),
]
# The start of a variable that is then overwritten cannot be told from another.
UNSEEN = {("restore_fence", "constant", "0")}

TAIL = """
}
using namespace vortex::core;
int main() {
  for (int a = 0; a < 11; ++a) {
    const Fence f = restore_fence({a + 1, a + 2});
    std::printf("%d %d %d %d %d %d %d %d %d\\n", first(a), both(a & 1, a & 2), steps(a % 4), is_off(a & 1),
                f.paused, f.epoch, a == 9 ? 0 : kept(a), most(a), a);
  }
}
"""


class Generator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="vx-mutate-test-")
        cls.root = Path(cls.folder.name)
        (cls.root / "src/core").mkdir(parents=True)
        cls.file = "src/core/sample.cc"
        cls.text = (HEAD + "\n".join(code for code, _ in SAMPLES) + TAIL).encode()
        (cls.root / cls.file).write_bytes(cls.text)
        cls.mutants = sources.find_mutants(cls.file, cls.text, cls.root, "vortex::core")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_finds_exactly_the_mutants_of_the_sample(self):
        wanted = sorted(m for _, mutants in SAMPLES for m in mutants)
        found = sorted((m.kind, m.original, m.mutated) for m in self.mutants)
        self.assertEqual(wanted, found)

    def test_each_mutant_changes_what_the_program_does_and_none_changes_nothing(self):
        copy, program = self.root / "copy.cc", self.root / "program"
        copy.write_bytes(Copy(self.text, self.mutants).text)
        subprocess.run(["g++", "-std=c++23", "-w", f"-I{ROOT}", str(copy), "-o", str(program)], check=True)

        def output(env):
            try:
                done = subprocess.run([str(program)], capture_output=True, env={**os.environ, **env}, timeout=5)
            except subprocess.TimeoutExpired:
                return "it runs for ever"
            return done.returncode, done.stdout

        clean = output({})
        self.assertEqual(0, clean[0])
        original = self.root / "original"
        subprocess.run(["g++", "-std=c++23", "-w", str(self.root / self.file), "-o", str(original)], check=True)
        self.assertEqual(subprocess.run([str(original)], capture_output=True).stdout, clean[1])
        for mutant in self.mutants:
            seen = output({"VX_MUTANT": mutant.id}) != clean
            hidden = (mutant.function, mutant.kind, mutant.original) in UNSEEN
            self.assertEqual(not hidden, seen, mutant.describe())

    def test_reached_mutants_are_noted(self):
        copy, program = self.root / "reach.cc", self.root / "reach"
        copy.write_bytes(Copy(self.text, self.mutants).text)
        subprocess.run(["g++", "-std=c++23", "-w", f"-I{ROOT}", str(copy), "-o", str(program)], check=True)
        marks = self.root / "marks"
        subprocess.run([str(program)], check=True, capture_output=True,
                       env={**os.environ, "VX_MUTANTS_REACHED": str(marks)})
        words = memoryview(marks.read_bytes()).cast("I")
        noted = {f"{n:08x}" for n in words if n}
        self.assertTrue(noted <= {m.id for m in self.mutants})
        self.assertIn(next(m.id for m in self.mutants if m.function == "first"), noted)

    def test_a_number_stays_when_lines_move(self):
        moved = self.text.replace(b"int both(", b"// a line more\n\nint both(")
        (self.root / self.file).write_bytes(moved)
        again = sources.find_mutants(self.file, moved, self.root, "vortex::core")
        (self.root / self.file).write_bytes(self.text)
        self.assertEqual([m.id for m in self.mutants], [m.id for m in again])

    def test_an_error_in_the_copy_leads_back_to_its_mutant(self):
        copy = Copy(self.text, self.mutants)
        for mutant in self.mutants:
            at = copy.text.index(mutant.id.encode())
            line = copy.text.count(b"\n", 0, at) + 1
            column = at - copy.text.rfind(b"\n", 0, at)
            self.assertEqual(mutant.id, copy.at(line, column), mutant.describe())


class Equivalents(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / equivalent.PLACE
            place.parent.mkdir(parents=True)
            place.write_text(text)
            return equivalent.read(Path(folder))

    def test_an_entry_without_a_reason_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "no reason"):
            self.read("12345678 src/core/x.cc drop: f(); -> nothing\n")

    def test_an_entry_that_matches_nothing_is_told(self):
        entries = self.read("# why\n12345678 src/core/x.cc drop: f(); -> nothing\n    says the same twice\n")
        self.assertEqual(["12345678 src/core/x.cc drop: f(); -> nothing"], equivalent.stale(entries, []))


if __name__ == "__main__":
    unittest.main()
