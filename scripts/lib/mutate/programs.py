"""Runs the unit tests and the simulator of the mutant build, one mutant at a time, within limits.

A mutant is killed by a test that fails, crashes, or uses far more processor time than without it, and
by a violation, crash or hang of the simulator. Limits are of processor time: a busy machine kills nobody.
"""

import array
import os
import resource
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass

_MEMORY = 4 << 30
# Several times what it takes without a mutant, and room for small ones.
_TIMES, _ROOM = 6, 3
# A process that waits for ever uses no processor time.
_WALL = 900
# A hang shows in the first tests or cases already, and short stretches have short limits.
_STRETCHES = [5, 20, 75]
# How many of the latest killers in the same file are tried before anything else.
_KILLERS = 6


def stretches(of):
    """A list in pieces, short ones first."""
    at = 0
    for size in [*_STRETCHES, len(of)]:
        if at < len(of):
            yield of[at:at + size]
        at += size


class Killers:
    """What killed mutants of the same file lately: it mostly kills their neighbours too."""

    def __init__(self):
        self.latest = {}  # file -> killers, the latest last

    def note(self, file, killer):
        known = [k for k in self.latest.get(file, []) if k != killer]
        self.latest[file] = [*known, killer][-4 * _KILLERS:]

    def first(self, file, reached):
        """What is to be tried first, and the rest."""
        known = set(reached)
        likely = [k for k in reversed(self.latest.get(file, [])) if k in known][:_KILLERS]
        return likely, [r for r in reached if r not in likely]


@dataclass
class Ran:
    code: int
    output: str
    seconds: float


def run(command, seconds, mutant=None, reached=None):
    limit = int(seconds * _TIMES) + _ROOM

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    env = {k: v for k, v in os.environ.items() if not k.startswith("VX_MUTANT")}
    env["RC_PARAMS"] = "seed=20240229"
    if mutant:
        env["VX_MUTANT"] = mutant
    if reached:
        env["VX_MUTANTS_REACHED"] = reached
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, env=env, preexec_fn=limits,
                          start_new_session=True) as process:
        watch = threading.Timer(_WALL, os.killpg, (process.pid, signal.SIGKILL))
        watch.start()
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(process.returncode, output.decode(errors="replace"), used.ru_utime + used.ru_stime)


def failed_test(output):
    """The name of the first test that failed, or the last that was begun."""
    name = ""
    for line in output.splitlines():
        if line.startswith("[  FAILED  ] "):
            return line.split()[3].rstrip(",")
        if line.startswith("[ RUN      ] "):
            name = line.split()[3]
    return name


class Programs:
    def __init__(self, build, simulator, seeds):
        self.build, self.simulator, self.seeds = build, simulator, seeds
        self.tests = {}  # "program name" -> seconds without a mutant
        self.cases = {}  # position -> seconds
        self.reached_by_tests = {}  # mutant -> names of tests
        self.reached_by_cases = {}
        self.killer_tests, self.killer_cases = Killers(), Killers()

    def hunt(self, cases):
        return [self.build.path(self.simulator), "--hunt", self.seeds, "--cases", ",".join(map(str, cases))]

    # What reaches what, without any mutant switched on

    def names(self):
        for program in self.build.programs():
            listed = run([self.build.path(program), "--gtest_list_tests"], 10).output
            suite = ""
            for line in listed.splitlines():
                if line.startswith("  "):
                    yield program, suite + line.split("#")[0].strip()
                elif line.rstrip().endswith("."):
                    suite = line.strip()

    def record(self, command):
        with tempfile.NamedTemporaryFile(prefix="vx-reached-") as file:
            ran = run(command, 120, reached=file.name)
            numbers = array.array("I", file.read())
        if ran.code != 0:
            raise RuntimeError(f"fails without any mutant: {' '.join(map(str, command))}\n{ran.output[-3000:]}")
        return ran.seconds, {f"{n:08x}" for n in numbers if n}

    def record_all(self, pool):
        tests = list(self.names())
        work = [[self.build.path(p), f"--gtest_filter={name}", "--gtest_brief=1"] for p, name in tests]
        for (program, name), (seconds, ids) in zip(tests, pool.map(self.record, work)):
            self.tests[f"{program} {name}"] = seconds
            for id in ids:
                self.reached_by_tests.setdefault(id, []).append(f"{program} {name}")
        work = [self.hunt([n]) for n in range(self.seeds)]
        for n, (seconds, ids) in enumerate(pool.map(self.record, work)):
            self.cases[n] = seconds
            for id in ids:
                self.reached_by_cases.setdefault(id, []).append(n)

    # One mutant

    def judge_by_tests(self, mutant):
        """Who kills it, or an empty text."""
        likely, rest = self.killer_tests.first(mutant.file, self.reached_by_tests.get(mutant.id, []))
        # Then quick ones: most mutants need no more.
        for entries in (likely, sorted(rest, key=self.tests.get)):
            by_program = {}
            for entry in entries:
                by_program.setdefault(entry.split()[0], []).append(entry)
            for program, ours in by_program.items():
                for some in stretches(ours):
                    killer = self._run_tests(program, some, mutant)
                    if killer:
                        return killer
        return ""

    def _run_tests(self, program, entries, mutant):
        names = ":".join(e.split()[1] for e in entries)
        ran = run([self.build.path(program), f"--gtest_filter={names}", "--gtest_fail_fast"],
                  sum(self.tests[e] for e in entries), mutant.id)
        if ran.code == 0:
            return ""
        name = failed_test(ran.output)
        if name:
            self.killer_tests.note(mutant.file, f"{program} {name}")
        return f"{name or program}{_how(ran.code)}"

    def judge_by_simulator(self, mutant):
        likely, rest = self.killer_cases.first(mutant.file, self.reached_by_cases.get(mutant.id, []))
        for now in [*stretches(likely), *stretches(rest)]:
            ran = run(self.hunt(now), sum(self.cases[n] for n in now), mutant.id)
            if ran.code == 0:
                continue
            found = [line for line in ran.output.splitlines() if line.startswith("tried=")]
            if ran.code == 1 and found:
                self.killer_cases.note(mutant.file, now[_tried(found[-1], len(now)) - 1])
                return found[-1].split("found=", 1)[1]
            if ran.code > 0:
                raise RuntimeError(f"the simulator cannot be run: {ran.output[-2000:]}")
            return f"case {now[0]} or after{_how(ran.code)}"
        return ""


def _tried(line, most):
    """How many cases were run, the one that found it being the last."""
    return min(int(line.split()[0].removeprefix("tried=")), most)


def _how(code):
    if code in (-24, -9):
        return " (hangs)"
    return f" (signal {-code})" if code < 0 else ""
