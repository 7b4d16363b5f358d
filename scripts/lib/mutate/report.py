"""What scripts/mutate says while it runs and at the end."""

import threading
import time

_EVERY_SECONDS = 20


def tell(text):
    print(text, flush=True)


def quiet(_):
    """For when the output is a list that somebody reads by a program."""


def fate(row):
    """What noticed a mutant, or why nobody did."""
    if row["tests"] or row["simulator"]:
        return f"tests: {row['tests'] or '-'}; simulator: {row['simulator'] or '-'}"
    if not row["reached_by_tests"] and not row["reached_by_simulator"]:
        return "reached by nobody"
    if not row["reached_by_tests"]:
        return "no test reaches it"
    return "" if row["reached_by_simulator"] else "no case of the simulator reaches it"


def killed(row):
    return bool(row["tests"] or row["simulator"])


def survivor(mutant, row):
    why = fate(row)
    return mutant.describe() + (f"  [{why}]" if why else "")


class Progress:
    def __init__(self, each):
        self.each = each  # say what happened to every one, not only to survivors
        self.lock = threading.Lock()

    def begin(self, chosen, results):
        self.total = len(chosen)
        known = [results[m.id] for m in chosen if m.id in results]
        self.rows = [row for row in known if row["simulator"] is not None]
        self._restart(self.total - len(known))
        if known:
            tell(f"of {self.total} mutants {len(known)} are known to the tests already, "
                 f"{len(self.rows)} to the simulator")

    def ask(self, count):
        self._restart(count)

    def _restart(self, count):
        self.started = self.last = time.monotonic()
        self.done, self.todo = 0, count

    def tested(self, mutant):
        with self.lock:
            self.done += 1
            self._tell_now_and_then("by tests")

    def judged(self, mutant, row):
        with self.lock:
            self.rows.append(row)
            self.done += 1
            if self.each:
                tell(f"{mutant.describe()}\n  {fate(row) or 'survives'}")
            elif not killed(row):
                tell(f"survives: {survivor(mutant, row)}")
            self._tell_now_and_then(f"by the simulator; so far {line(self.rows)}")

    def _tell_now_and_then(self, what):
        now = time.monotonic()
        if now - self.last < _EVERY_SECONDS:
            return
        self.last = now
        each = (now - self.started) / self.done
        tell(f"... {self.done} of {self.todo} judged {what}: {each:.2f} s each, "
             f"{each * (self.todo - self.done) / 60:.0f} min left")


def line(rows):
    return (f"mutants={len(rows)} killed={sum(map(killed, rows))} "
            f"by_sim={sum(bool(r['simulator']) for r in rows)}")


def close(chosen, results, options):
    """Prints survivors, a line per folder and the closing line; the exit code."""
    rows = [results[m.id] for m in chosen]
    alive = [m for m in chosen if not killed(results[m.id])]
    if alive:
        tell(f"\nsurvivors ({len(alive)}):")
    for mutant in sorted(alive, key=lambda m: (m.file, m.line)):
        tell("  " + survivor(mutant, results[mutant.id]))
    folders = {}
    for mutant in chosen:
        folders.setdefault(mutant.file.rsplit("/", 1)[0], []).append(results[mutant.id])
    for folder, of in sorted(folders.items()):
        tell(f"{folder}: {line(of)}")
    tell(line(rows))
    share = 100 * sum(map(killed, rows)) / len(rows)
    by_sim = 100 * sum(bool(r["simulator"]) for r in rows) / len(rows)
    return 0 if share >= options.least_killed and by_sim >= options.least_by_sim else 1
