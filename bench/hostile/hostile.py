#!/usr/bin/env python3
"""bench/hostile/hostile.py VORTEX [--seconds N]: how much hostile clients disturb everybody else.

Starts a controller with tokens and three workers on loopback and measures them three times:

  peace    nothing else goes on
  plain    somebody submits 100,000 plain tasks in one document and cancels them, over and over
  attack   all of this at once:
    1,000 slow clients   each sends a request byte by byte
    24 huge bodies       64 MB each, without a token, over and over
    3 huge runs          maps of a million items each, and one of 100,000 plain tasks
    a validate flood     a viewer sends documents on 8 connections: of 10,000 tasks, which are read to the end,
                         and with 80,000 variables in one task, which are refused

What is measured: how long a submit takes, how long a worker's sync takes (its heartbeat), whether a task was
fenced, restarted or lost, and the controller's memory. Prints a table and then one line of JSON; `submit_ratio`
and `sync_ratio` are the median under attack over the median in peace. Counts what each attack was answered with,
and exits with 1 if one did not arrive as intended: then the figures say nothing.
"""

import argparse
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

ATTACKERS = "127.0.0.2"  # an address of their own, as they would have
SLOW_CLIENTS, HUGE_BODIES, HUGE_RUNS, FLOOD = 1000, 24, 3, 8
PLAIN_TASKS = 100_000


def plain(name, tasks):
    """A DAG without a map: each task has a definition of its own. Nobody runs it."""
    return {"name": name, "tasks": {f"t{n}": {"run": ["true"], "queue": "nobody"} for n in range(tasks)}}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """A controller and its workers in a folder of their own; everything ends with it."""

    def __init__(self, vortex, folder):
        self.vortex, self.folder, self.port = vortex, folder, free_port()
        self.database = f"--database.path={folder}/vortex.db"
        self.tokens = {name: self.create(name, role) for name, role in
                       (("root", "admin"), ("viewer", "viewer"), ("worker", "worker"),
                        ("huge", "submitter"), ("submitter", "submitter"))}
        self.processes = []
        log = open(folder / "controller.log", "wb")
        self.controller = self.start("root", log, "controller", self.database,
                                     f"--controller.listen=127.0.0.1:{self.port}", "--tuning=testing",
                                     "--controller.require-tokens=true")
        self.wait_until_ready()
        self.start("worker", log, "worker", "--slots", "2", "--count", "3", "--name", "steady",
                   f"--work-dir={folder}/work", f"--state-dir={folder}/state", "--tuning=testing")

    def create(self, name, role):
        done = subprocess.run([self.vortex, "tokens", "create", name, "--role", role, "--offline", self.database],
                              capture_output=True, text=True, check=True)
        (self.folder / name).write_text(done.stdout)
        (self.folder / name).chmod(0o600)
        return done.stdout.strip()

    def start(self, token, log, *arguments):
        environment = {**os.environ, "VORTEX_TOKEN_FILE": str(self.folder / token),
                       "VORTEX_SERVER": f"http://127.0.0.1:{self.port}"}
        process = subprocess.Popen([self.vortex, *arguments], env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def wait_until_ready(self):
        for _ in range(200):
            try:
                if self.ask("root", "GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("the controller does not start: " + (self.folder / "controller.log").read_text())

    def connection(self, source="127.0.0.1", timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout, source_address=(source, 0))

    def ask(self, token, method, path, body=None, line=None, headers=None):
        return self.ask_text(token, method, path, json.dumps(body) if body is not None else None, line, headers)

    def ask_text(self, token, method, path, text, line=None, headers=None):
        line = line or self.connection()
        sent = {"Authorization": f"Bearer {self.tokens[token]}", "Content-Type": "application/json", **(headers or {})}
        line.request(method, path, text, sent)
        answer = line.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else {}

    def memory_mib(self):
        for line in Path(f"/proc/{self.controller.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) // 1024
        return 0

    def end(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Loop:
    """Does one thing again and again on a thread of its own until it is stopped."""

    def __init__(self, act, pause=0.0):
        self.act, self.pause = act, pause
        self.ended = threading.Event()
        self.failures = 0
        self.trouble = ""
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ended.wait(self.pause):
            try:
                self.act()
            except (OSError, http.client.HTTPException, RuntimeError) as trouble:
                self.failures += 1
                self.trouble = str(trouble)

    def stop(self):
        self.ended.set()
        self.thread.join(120)


class Timed:
    """A request that is measured each time."""

    def __init__(self, act):
        self.act, self.milliseconds = act, []

    def __call__(self):
        begin = time.monotonic()
        self.act()
        self.milliseconds.append((time.monotonic() - begin) * 1000)

    def taken(self):
        if not self.milliseconds:
            raise RuntimeError("nothing of what others do was answered")
        return sorted(self.milliseconds)


def submitter(cluster):
    line = cluster.connection()

    def submit():
        status, _ = cluster.ask("submitter", "POST", "/api/runs",
                                {"dag": {"name": "small", "tasks": {"a": {"run": ["true"]}}}}, line)
        if status != 201:
            raise RuntimeError(f"a submit was answered with {status}")

    return submit


def heartbeat(cluster, name):
    """A worker with nothing to do: its syncs are heartbeats."""
    _, session = cluster.ask("worker", "POST", "/api/workers", {"id": name, "queues": ["nothing"]})
    line = cluster.connection()
    headers = {"Vortex-Session": session["session"]} if "session" in session else {}
    state = {"seq": 0, "mark": None}

    def sync():
        state["seq"] += 1
        body = {"incarnation": session["incarnation"], "seq": state["seq"], "slots": 0, "held": [], "wait_ms": 0}
        if state["mark"]:
            body["ack"] = state["mark"]
        status, answer = cluster.ask("worker", "POST", f"/api/workers/{name}/sync", body, line, headers)
        if status != 200:
            raise RuntimeError(f"a sync was answered with {status}: {answer}")
        state["mark"] = answer["mark"]

    return sync


class PlainRuns:
    """100,000 tasks in one document, submitted and cancelled again and again."""

    def __init__(self, cluster):
        self.cluster, self.answers, self.milliseconds = cluster, Counter(), []
        self.body = json.dumps({"dag": plain("plain", PLAIN_TASKS)})
        self.loop = Loop(self.once, 0.2)

    def once(self):
        line = self.cluster.connection(ATTACKERS)
        begin = time.monotonic()
        status, run = self.cluster.ask_text("huge", "POST", "/api/runs", self.body, line)
        self.milliseconds.append((time.monotonic() - begin) * 1000)
        self.answers[f"submit {status}"] += 1
        if status == 201:
            status, _ = self.cluster.ask("huge", "POST", f"/api/runs/{run['id']}/cancel", None, line)
            self.answers[f"cancel {status}"] += 1

    def stop(self):
        self.loop.stop()

    def wrong(self):
        if self.loop.failures or set(self.answers) != {"submit 201", "cancel 200"}:
            return [f"plain runs were answered with {dict(self.answers)}, {self.loop.failures} failures"]
        return []


class Attack:
    def __init__(self, cluster):
        self.cluster, self.sockets, self.answers, self.guard = cluster, [], Counter(), threading.Lock()
        self.huge = b"x" * 64_000_000
        variables = {f"VARIABLE_{n}": "x" for n in range(80_000)}
        wide = {"name": "wide", "tasks": {"a": {"run": ["true"], "env": variables}}}
        self.documents = {"whole": json.dumps(plain("long", 10_000)), "wide": json.dumps(wide)}
        self.open_slow()
        self.loops = [Loop(self.drip, 1.0)]
        self.loops += [Loop(self.push, 0.05) for _ in range(HUGE_BODIES)]
        self.loops += [Loop(lambda kind=kind: self.validate(kind))
                       for kind in self.documents for _ in range(FLOOD // len(self.documents))]
        for n in range(HUGE_RUNS):
            self.submit({"name": f"huge{n}", "tasks": {"a": {
                "run": ["true"], "queue": "nobody", "map": {"over": {"range": {"from": 1, "to": 1_000_000}}}}}})
        self.submit(plain("plain", PLAIN_TASKS))

    def count(self, what):
        with self.guard:
            self.answers[what] += 1

    def submit(self, dag):
        status, _ = self.cluster.ask("huge", "POST", "/api/runs", {"dag": dag}, self.cluster.connection(ATTACKERS))
        self.count(f"run {status}")

    def connect_slowly(self):
        one = socket.create_connection(("127.0.0.1", self.cluster.port), source_address=(ATTACKERS, 0))
        one.sendall(b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        self.count("slow connection")
        return one

    def open_slow(self):
        self.sockets = [self.connect_slowly() for _ in range(SLOW_CLIENTS)]

    def drip(self):
        for place, one in enumerate(self.sockets):
            try:
                one.send(b"x")
            except OSError:  # thrown out for being slow: it comes again
                one.close()
                self.sockets[place] = self.connect_slowly()

    def push(self):
        line = self.cluster.connection(ATTACKERS)
        try:
            line.request("POST", "/api/runs", self.huge)
        except OSError:  # it is not read to the end; the answer is there all the same
            pass
        try:
            self.count(f"body {line.getresponse().status}")
        except (OSError, http.client.HTTPException):
            self.count("body cut off")
        line.close()

    def validate(self, kind):
        line = self.cluster.connection(ATTACKERS)
        status, _ = self.cluster.ask_text("viewer", "POST", "/api/dags/validate", self.documents[kind], line)
        self.count(f"{kind} document {status}")

    def stop(self):
        for loop in self.loops:
            loop.ended.set()
        for loop in self.loops:
            loop.stop()
        for one in self.sockets:
            one.close()

    def wrong(self):
        """What did not arrive as intended. A document that is told to wait its turn has arrived."""
        counts, wrong = self.answers, []

        def expect(fine, what):
            if not fine:
                wrong.append(f"{what}: {({k: v for k, v in counts.items() if k.startswith(what.split()[0])})}")

        def only(prefix, *allowed):
            return all(k.split()[-1] in allowed for k in counts if k.startswith(prefix))

        expect(counts["slow connection"] >= SLOW_CLIENTS, "slow clients did not connect")
        expect(counts["body 401"] >= HUGE_BODIES and only("body", "401", "off"), "body attacks were not all refused")
        expect(counts["run 201"] == HUGE_RUNS + 1, "run attacks were not all accepted")
        expect(counts["whole document 200"] > 0 and only("whole", "200", "429", "503"), "whole documents were not read")
        expect(counts["wide document 422"] > 0 and only("wide", "422", "429", "503"), "wide documents were not refused")
        return wrong


def start_witnesses(cluster):
    """Tasks that run all the time: none of them may be fenced, restarted or lost."""
    _, run = cluster.ask("submitter", "POST", "/api/runs", {"dag": {"name": "witness", "tasks": {
        "sleep": {"run": ["sleep", "600"], "map": {"over": {"range": {"from": 1, "to": 3}}}}}}})
    for _ in range(400):
        _, tasks = cluster.ask("root", "GET", f"/api/runs/{run['id']}/tasks")
        if sum(t["state"] == "Running" for t in tasks["tasks"]) == 3:
            return run["id"]
        time.sleep(0.05)
    raise RuntimeError("the witnesses do not start")


def undisturbed(cluster, run):
    _, tasks = cluster.ask("root", "GET", f"/api/runs/{run}/tasks")
    return sum(t["state"] == "Running" and t["attempts"] == 1 for t in tasks["tasks"])


def measure(cluster, name, seconds):
    submit, sync = Timed(submitter(cluster)), Timed(heartbeat(cluster, f"witness-{name}"))
    loops = [Loop(submit, 0.02), Loop(sync, 0.02)]
    time.sleep(seconds)
    for loop in loops:
        loop.stop()
    for loop in loops:
        if loop.failures:
            print(f"others were refused {loop.failures} times: {loop.trouble}", file=sys.stderr)
    return {"submit": submit.taken(), "sync": sync.taken(), "failures": [loop.failures for loop in loops]}


def figures(times):
    return {"p50": statistics.median(times), "p99": times[int(len(times) * 0.99)], "max": times[-1], "count": len(times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vortex")
    parser.add_argument("--seconds", type=float, default=20, help="how long each phase lasts (20)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vortex-hostile-") as name:
        cluster = Cluster(os.path.realpath(options.vortex), Path(name))
        try:
            run = start_witnesses(cluster)
            phases = {"peace": measure(cluster, "peace", options.seconds)}
            runs = PlainRuns(cluster)
            phases["plain"] = measure(cluster, "plain", options.seconds)
            runs.stop()
            attack = Attack(cluster)
            phases["attack"] = measure(cluster, "attack", options.seconds)
            steady = undisturbed(cluster, run)
            attack.stop()
            _, answer = cluster.ask("root", "GET", "/api/recoveries")
            # The witnesses of earlier phases have fallen silent by themselves.
            lost = [one["worker"] for one in answer["recoveries"] if not one["worker"].startswith("witness-")]
            result = {"bench": "hostile", "undisturbed_tasks": steady, "recoveries": len(lost),
                      "controller_mib": cluster.memory_mib(),
                      "plain_submit_ms": rounded(figures(sorted(runs.milliseconds) or [0])),
                      "answers": dict(sorted((runs.answers + attack.answers).items()))}
            report(phases, result)
            wrong = runs.wrong() + attack.wrong()
            if wrong:
                raise RuntimeError("an attack did not arrive as intended: " + "; ".join(wrong))
        finally:
            cluster.end()


def rounded(numbers):
    return {key: round(value, 2) for key, value in numbers.items()}


def report(phases, result):
    row = "{:<22} {:>9} {:>9} {:>9} {:>7}"
    print(row.format("milliseconds", "p50", "p99", "max", "count"))
    for what in ("submit", "sync"):
        for name, phase in phases.items():
            f = figures(phase[what])
            print(row.format(f"{what}, {name}", *(f"{f[k]:.1f}" for k in ("p50", "p99", "max")), f["count"]))
            result[f"{what}_{name}_ms"] = rounded(f)
        result[f"{what}_ratio"] = round(
            statistics.median(phases["attack"][what]) / statistics.median(phases["peace"][what]), 2)
    result["refused"] = {name: dict(zip(("submit", "sync"), phase["failures"])) for name, phase in phases.items()}
    f = result["plain_submit_ms"]
    print(row.format("100,000 plain tasks", *(f"{f[k]:.1f}" for k in ("p50", "p99", "max")), f["count"]))
    print(f"{result['undisturbed_tasks']} of 3 running tasks undisturbed, {result['recoveries']} recoveries, "
          f"controller {result['controller_mib']} MiB at most")
    print("answers: " + ", ".join(f"{count} x {what}" for what, count in result["answers"].items()))
    print(json.dumps(result))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as trouble:
        print(f"hostile: {trouble}", file=sys.stderr)
        sys.exit(1)
