#!/usr/bin/env python3
"""bench/hostile/hostile.py VORTEX [--seconds N]: how much hostile clients disturb everybody else.

Starts a controller with tokens and three workers on loopback, first measures them in peace and then while all
of this goes on at once:

  1,000 slow clients   each sends a request byte by byte
  24 huge bodies       64 MB each, without a token, over and over
  3 huge runs          maps of a million items each
  a validate flood     a viewer sends documents with 80,000 variables on 8 connections

What is measured: how long a submit takes, how long a worker's sync takes (its heartbeat), whether a task was
fenced, restarted or lost, and the controller's memory. Prints a table and then one line of JSON; `submit_ratio`
and `sync_ratio` are the median under attack over the median in peace.
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
from pathlib import Path

ATTACKERS = "127.0.0.2"  # an address of their own, as they would have
SLOW_CLIENTS, HUGE_BODIES, HUGE_RUNS, FLOOD = 1000, 24, 3, 8


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
        line = line or self.connection()
        sent = {"Authorization": f"Bearer {self.tokens[token]}", **(headers or {})}
        line.request(method, path, json.dumps(body) if body is not None else None, sent)
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
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ended.wait(self.pause):
            try:
                self.act()
            except (OSError, http.client.HTTPException):
                self.failures += 1

    def stop(self):
        self.ended.set()
        self.thread.join(60)


class Timed:
    """A request that is measured each time."""

    def __init__(self, act):
        self.act, self.milliseconds = act, []

    def __call__(self):
        begin = time.monotonic()
        self.act()
        self.milliseconds.append((time.monotonic() - begin) * 1000)

    def take(self):
        taken, self.milliseconds = sorted(self.milliseconds), []
        return taken


def submitter(cluster):
    line = cluster.connection()

    def submit():
        status, _ = cluster.ask("submitter", "POST", "/api/runs",
                                {"dag": {"name": "small", "tasks": {"a": {"run": ["true"]}}}}, line)
        if status != 201:
            raise RuntimeError(f"a submit was answered with {status}")

    return submit


def heartbeat(cluster):
    """A worker with nothing to do: its syncs are heartbeats."""
    _, session = cluster.ask("worker", "POST", "/api/workers", {"id": "witness", "queues": ["nothing"]})
    line = cluster.connection()
    headers = {"Vortex-Session": session["session"]} if "session" in session else {}
    state = {"seq": 0, "mark": None}

    def sync():
        state["seq"] += 1
        body = {"incarnation": session["incarnation"], "seq": state["seq"], "slots": 0, "held": [], "wait_ms": 0}
        if state["mark"]:
            body["ack"] = state["mark"]
        status, answer = cluster.ask("worker", "POST", "/api/workers/witness/sync", body, line, headers)
        if status != 200:
            raise RuntimeError(f"a sync was answered with {status}: {answer}")
        state["mark"] = answer["mark"]

    return sync


class Attack:
    def __init__(self, cluster):
        self.cluster, self.sockets = cluster, []
        self.huge = b"x" * 64_000_000
        wide = {"name": "wide", "tasks": {"a": {"run": ["true"], "env": {f"VARIABLE_{n}": "x" for n in range(80_000)}}}}
        self.document = json.dumps(wide)
        self.open_slow()
        self.loops = [Loop(self.drip, 1.0)]
        self.loops += [Loop(self.push, 0.05) for _ in range(HUGE_BODIES)]
        self.loops += [Loop(self.validate) for _ in range(FLOOD)]
        for n in range(HUGE_RUNS):
            cluster.ask("huge", "POST", "/api/runs", {"dag": {"name": f"huge{n}", "tasks": {
                "a": {"run": ["true"], "queue": "nobody", "map": {"over": {"range": {"from": 1, "to": 1_000_000}}}}}}},
                cluster.connection(ATTACKERS))

    def open_slow(self):
        for _ in range(SLOW_CLIENTS):
            one = socket.create_connection(("127.0.0.1", self.cluster.port), source_address=(ATTACKERS, 0))
            one.sendall(b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            self.sockets.append(one)

    def drip(self):
        for place, one in enumerate(self.sockets):
            try:
                one.send(b"x")
            except OSError:  # thrown out for being slow: it comes again
                one.close()
                self.sockets[place] = socket.create_connection(("127.0.0.1", self.cluster.port),
                                                               source_address=(ATTACKERS, 0))
                self.sockets[place].sendall(b"POST /api/runs HTTP/1.1\r\nX-Slow: ")

    def push(self):
        self.cluster.connection(ATTACKERS).request("POST", "/api/runs", self.huge)

    def validate(self):
        line = self.cluster.connection(ATTACKERS)
        line.request("POST", "/api/dags/validate", self.document,
                     {"Authorization": f"Bearer {self.cluster.tokens['viewer']}", "Content-Type": "application/json"})
        line.getresponse().read()

    def stop(self):
        for loop in self.loops:
            loop.ended.set()
        for loop in self.loops:
            loop.stop()
        for one in self.sockets:
            one.close()


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


def measure(seconds, submit, sync):
    loops = [Loop(submit, 0.05), Loop(sync, 0.25)]
    time.sleep(seconds)
    for loop in loops:
        loop.stop()
    failures = [loop.failures for loop in loops]
    return {"submit": submit.take(), "sync": sync.take(), "failures": failures}


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
            submit, sync = Timed(submitter(cluster)), Timed(heartbeat(cluster))
            peace = measure(options.seconds, submit, sync)
            attack = Attack(cluster)
            war = measure(options.seconds, submit, sync)
            steady = undisturbed(cluster, run)
            attack.stop()
            _, recoveries = cluster.ask("root", "GET", "/api/recoveries")
            report(peace, war, steady, len(recoveries["recoveries"]), cluster.memory_mib())
        finally:
            cluster.end()


def report(peace, war, steady, recoveries, memory):
    row = "{:<22} {:>9} {:>9} {:>9} {:>7}"
    print(row.format("milliseconds", "p50", "p99", "max", "count"))
    result = {"bench": "hostile", "undisturbed_tasks": steady, "recoveries": recoveries, "controller_mib": memory}
    for what in ("submit", "sync"):
        for name, phase in (("peace", peace), ("attack", war)):
            f = figures(phase[what])
            print(row.format(f"{what}, {name}", *(f"{f[k]:.1f}" for k in ("p50", "p99", "max")), f["count"]))
            result[f"{what}_{name}_ms"] = {k: round(v, 2) for k, v in f.items()}
        result[f"{what}_ratio"] = round(statistics.median(war[what]) / statistics.median(peace[what]), 2)
    result["refused"] = {"submit": war["failures"][0], "sync": war["failures"][1]}
    print(f"{steady} of 3 running tasks undisturbed, {recoveries} recoveries, controller {memory} MiB at most")
    print(json.dumps(result))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as trouble:
        print(f"hostile: {trouble}", file=sys.stderr)
        sys.exit(1)
