#!/usr/bin/env python3
"""tests/e2e/deploy.py VORTEX: everything in deploy/ and docs/deploy.md is real. Sub-commands and flags are looked up
in the help of the program, variables and TOML files go through its own check, probes are sent to a running controller
and worker; names, ports, secrets and stop times must fit together. Then the same checks run over copies with one
mistake each, and must find it."""
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
VORTEX = os.path.realpath(sys.argv[1])
LIMIT = 120  # seconds for one command; the machine may be busy
# Of every Debian system, or brought along by the others.
BASE_LIBRARIES = {"libc6", "libgcc-s1", "libstdc++6"}


def ask(*words, env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("VORTEX_")}
    return subprocess.run([VORTEX, *words], env=clean | (env or {}), capture_output=True, text=True,
                          timeout=LIMIT, check=False)


class Program:
    """What the built program knows; each question is asked once."""

    def __init__(self):
        self.helps = {}
        shown = json.loads(ask("config", "show", "-o", "json").stdout)["settings"]
        self.settings = {s["key"] for s in shown}
        self.checked = {}
        self.shown = {}

    def help(self, commands):
        if commands not in self.helps:
            answer = ask(*commands, "--help")
            self.helps[commands] = answer.stdout if answer.returncode == 0 else None
        return self.helps[commands]

    def complaint_about(self, env=None, config=None):
        key = json.dumps([env, config and config.read_text()])
        if key not in self.checked:
            flags = ["--config", str(config)] if config else []
            # Not `config check`: that reads the certificates too, which are made where it is deployed.
            answer = ask("config", "show", *flags, env=env)
            self.checked[key] = "" if answer.returncode == 0 else answer.stderr.strip()
        return self.checked[key]

    def value(self, setting, env=None, config=None):
        key = json.dumps([env, config and config.read_text()])
        if key not in self.shown:
            flags = ["--config", str(config)] if config else []
            self.shown[key] = json.loads(ask("config", "show", "-o", "json", *flags, env=env).stdout)["settings"]
        return float(next(s["value"] for s in self.shown[key] if s["key"] == setting))


def check_command(program, words):
    """The words after `vortex`: sub-commands, flags, settings."""
    commands = []
    known = program.help(())
    for word in words:
        if word.startswith("-"):
            break
        listed = re.search(rf"^  {re.escape(word)} ", known, re.M)
        if not listed:
            break
        commands.append(word)
        known = program.help(tuple(commands))
    if not commands and not words[:1] == ["--help"]:
        yield f"`vortex {' '.join(words)}`: there is no command {words[0] if words else ''}"
        return
    texts = known + program.help(())
    for word in words:
        if word == "--":
            break
        flag = word.split("=", 1)[0]
        if not re.fullmatch(r"--?[a-z][a-z.\-_]*", flag):
            continue
        if flag[2:].replace("-", "_") in program.settings:
            continue
        if not re.search(rf"(^|[ ,]){re.escape(flag)}([ ,]|$)", texts, re.M):
            yield f"`vortex {' '.join(words)}`: no flag {flag}"


def check_environment(program, env, where):
    ours = {k: str(v) for k, v in env.items() if k.startswith("VORTEX_")}
    # Files of the place where it will run; what they are called is no part of this.
    complaint = program.complaint_about(ours)
    if complaint:
        yield f"{where}: {complaint}"


def grace_of(program, **how):
    return program.value("worker.shutdown_timeout_secs", **how) + program.value("worker.kill_grace_secs", **how) + 5


def seconds(text):
    amount, unit = re.fullmatch(r"(\d+)(s|m|min)?", str(text)).groups()
    return int(amount) * (1 if unit in (None, "s") else 60)


# systemd

def unit_words(text, key):
    joined = text.replace("\\\n", " ")
    return [m.strip() for m in re.findall(rf"^#?{key}=(.*)$", joined, re.M)]


def check_systemd(program, folder):
    env = {}
    for part in ("controller", "worker"):
        text = (folder / f"vortex-{part}.service").read_text()
        for line in (folder / f"{part}.env").read_text().splitlines():
            if line and not line.startswith("#"):
                name, value = line.split("=", 1)
                env.setdefault(part, {})[name] = value
        for setting in unit_words(text, "Environment"):
            name, value = setting.split("=", 1)
            env[part][name] = value
        yield from check_environment(program, env[part], f"{part}.env and vortex-{part}.service")
        toml = folder / f"{part}.toml"
        complaint = program.complaint_about(config=toml)
        if complaint:
            yield f"{toml.name}: {complaint}"
        for start in unit_words(text, "ExecStart"):
            words = shlex.split(start)
            if words[0] != "/usr/bin/vortex" or words[1] != part:
                yield f"vortex-{part}.service starts {start}"
            if f"--config=/etc/vortex/{toml.name}" not in words:
                yield f"vortex-{part}.service does not read {toml.name}"
            yield from check_command(program, words[1:])
    text = (folder / "vortex-worker.service").read_text()
    if unit_words(text, "KillMode") != ["mixed"] or unit_words(text, "Delegate") != ["yes"]:
        yield "vortex-worker.service: tasks need KillMode=mixed and Delegate=yes"
    stop = seconds(unit_words(text, "TimeoutStopSec")[0])
    if not stop > grace_of(program, config=folder / "worker.toml"):
        yield f"vortex-worker.service: TimeoutStopSec={stop} does not let tasks finish"
    controllers = unit_words((folder / "vortex-controller.service").read_text(), "LoadCredential")
    if "vortex-master-key:/etc/vortex/master.key" not in controllers:
        yield "vortex-controller.service: the master key's credential is called vortex-master-key"
    yield from verify_units(folder)


def verify_units(folder):
    if not shutil.which("systemd-analyze"):
        print("deploy: systemd-analyze is not installed: units are not verified")
        return
    with tempfile.TemporaryDirectory() as place:
        for unit in folder.glob("*.service"):
            (Path(place) / unit.name).write_text(unit.read_text().replace("/usr/bin/vortex", VORTEX))
        for unit in sorted(Path(place).glob("*.service")):
            checked = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                                     capture_output=True, text=True, timeout=LIMIT, check=False)
            if checked.returncode != 0 or unit.name in checked.stderr:
                yield f"systemd-analyze verify: {checked.stderr.strip()}"
        exposed = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20",
                                  "--no-pager", str(Path(place) / "vortex-controller.service")],
                                 capture_output=True, text=True, timeout=LIMIT, check=False)
        if exposed.returncode != 0:
            yield f"vortex-controller.service is not hardened: {exposed.stdout.strip().splitlines()[-1]}"


# compose

def check_compose(program, folder):
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    listens = {}
    for name, service in services.items():
        env = {k: str(v) for k, v in service.get("environment", {}).items()}
        yield from check_environment(program, env, f"compose service {name}")
        if service.get("image") != "vortex":
            continue
        if "entrypoint" in service:
            for line in re.findall(r"\bvortex (.*?)(?: > .*)?$", service["command"][0], re.M):
                if not line.startswith(":"):
                    yield from check_command(program, shlex.split(line))
            continue
        yield from check_command(program, service["command"])
        test = service.get("healthcheck", {}).get("test", [])
        if test:
            yield from check_command(program, test[test.index("vortex") + 1:])
        if service["command"][0] == "controller":
            port = env["VORTEX_CONTROLLER_LISTEN"].rsplit(":", 1)[1]
            listens[f"http://{name}:{port}"] = env["VORTEX_CONTROLLER_ADVERTISE_URL"]
            if any(p.split(":")[2] != port or not p.startswith("127.0.0.1:") for p in service["ports"]):
                yield f"compose service {name}: publishes {service['ports']} but listens on {port}"
    for url, advertised in listens.items():
        if url != advertised:
            yield f"compose: {url} tells others to use {advertised}"
    worker = services["worker"]
    if set(worker["environment"]["VORTEX_SERVER"].split(",")) != set(listens):
        yield "compose: the worker's list is not that of the controllers"
    env = {k: str(v) for k, v in worker["environment"].items()}
    if not seconds(worker["stop_grace_period"]) > grace_of(program, env=env):
        yield "compose: stop_grace_period does not let tasks finish"


# Kubernetes

def environment_of(container):
    env = {}
    for entry in container["env"]:
        value = entry.get("value", "")
        if "secretKeyRef" in entry.get("valueFrom", {}) and entry["name"] == "VORTEX_DATABASE_URL":
            value = "postgresql://vortex@postgres/vortex"
        env[entry["name"]] = re.sub(r"\$\(\w+\)", "x", value)
    return env


def secrets_used(pod):
    for container in pod["containers"]:
        for entry in container["env"]:
            reference = entry.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                yield reference["name"], reference["key"]
        for entry in container["env"]:
            for mount in container["volumeMounts"]:
                if entry.get("value", "").startswith(mount["mountPath"] + "/"):
                    volume = next(v for v in pod["volumes"] if v["name"] == mount["name"])
                    if "secret" in volume:
                        yield volume["secret"]["secretName"], Path(entry["value"]).name


def check_pod(program, workload, secrets):
    pod = workload["spec"]["template"]["spec"]
    name = workload["metadata"]["name"]
    if workload["spec"]["selector"]["matchLabels"] != workload["spec"]["template"]["metadata"]["labels"]:
        yield f"{name}: does not select its own pods"
    if pod.get("enableServiceLinks") is not False:
        yield f"{name}: variables of services would be refused as settings"
    container = pod["containers"][0]
    env = environment_of(container)
    yield from check_environment(program, env, name)
    yield from check_command(program, container["args"])
    for secret, key in secrets_used(pod):
        if key not in secrets.get(secret, {}):
            yield f"{name}: no key {key} in secret {secret}"
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    wanted = {int(env[v].rsplit(":", 1)[-1]) for v in ("VORTEX_CONTROLLER_LISTEN", "VORTEX_WORKER_HEALTH_PORT")
              if v in env}
    if set(ports.values()) != wanted:
        yield f"{name}: ports {ports}, but it listens on {wanted}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = container.get(probe, {}).get("httpGet")
        if get and get["port"] not in ports:
            yield f"{name}: {probe} uses port {get['port']}"
        if get and (get.get("scheme") == "HTTPS") != ("VORTEX_CONTROLLER_TLS_CERT_FILE" in env):
            yield f"{name}: {probe} has the wrong scheme"
    if container["args"][0] == "worker" and not pod["terminationGracePeriodSeconds"] > grace_of(program, env=env):
        yield f"{name}: terminationGracePeriodSeconds does not let tasks finish"


def check_kubernetes(program, folder):
    objects = [o for f in sorted(folder.glob("*.yaml")) for o in yaml.safe_load_all(f.read_text())]
    by_kind = {}
    for made in objects:
        by_kind.setdefault(made["kind"], {})[made["metadata"]["name"]] = made
    secrets = {name: s["stringData"] for name, s in by_kind["Secret"].items()}
    controllers = by_kind["StatefulSet"]["vortex"]
    workers = by_kind["Deployment"]["vortex-workers"]
    for workload in (controllers, workers):
        yield from check_pod(program, workload, secrets)
    spec = controllers["spec"]
    labels = spec["selector"]["matchLabels"]
    port = spec["template"]["spec"]["containers"][0]["ports"][0]
    for name, service in by_kind["Service"].items():
        offered = service["spec"]["ports"][0]
        if service["spec"]["selector"] != labels or offered["targetPort"] != port["name"]:
            yield f"service {name} does not lead to the controllers"
    budget = by_kind["PodDisruptionBudget"]["vortex-controllers"]["spec"]
    if budget["selector"]["matchLabels"] != labels or not 0 < budget["minAvailable"] < spec["replicas"]:
        yield "the disruption budget does not fit the controllers"
    if spec["serviceName"] not in by_kind["Service"]:
        yield f"there is no service {spec['serviceName']}"
    names = {f"https://{controllers['metadata']['name']}-{i}.{spec['serviceName']}:{port['containerPort']}"
             for i in range(spec["replicas"])}
    env = environment_of(workers["spec"]["template"]["spec"]["containers"][0])
    if set(env["VORTEX_SERVER"].split(",")) != names:
        yield f"the workers' list is not {sorted(names)}"


def probe_paths(folder):
    text = "\n".join(f.read_text() for f in sorted(folder.rglob("*.yaml")))
    return sorted(set(re.findall(r"path: (/[a-z]+)\b, port", text)))


# Dockerfile

def check_dockerfile(program, file):
    text = file.read_text()
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", VORTEX], capture_output=True,
                                                            text=True, check=True).stdout)
    listed = re.findall(r"\blib[a-z0-9.+-]+", text)
    found = subprocess.run(["ldd", VORTEX], capture_output=True, text=True, check=True).stdout
    for library in needed:
        path = re.search(rf"{re.escape(library)} => (\S+)", found)
        if not path or "san.so" in library:
            continue
        owner = subprocess.run(["dpkg", "-S", os.path.realpath(path.group(1))], capture_output=True, text=True,
                               check=False).stdout.split(":")[0]
        if owner and owner not in listed and owner not in BASE_LIBRARIES:
            yield f"Dockerfile: the program needs {owner}"
    for script in re.findall(r"\bscripts/[a-z]+", text):
        if not (ROOT / script).exists():
            yield f"Dockerfile: there is no {script}"
    del program


# docs/deploy.md

def check_docs(program, page):
    text = page.read_text()
    for path in re.findall(r"(?<!> )\bdeploy/[\w./-]*\w", text):
        if not (ROOT / path).exists():
            yield f"{page.name}: there is no {path}"
    for block in re.findall(r"^(?:    .*\n?)+", text, re.M):
        for line in block.replace("\\\n", " ").splitlines():
            used = re.search(r"(?:^|\| |-- |\$\()\s*vortex ([^|>#)]*)", line)
            if used:
                yield from check_command(program, shlex.split(used.group(1)))


CHECKS = {
    "systemd": check_systemd,
    "compose": check_compose,
    "kubernetes": check_kubernetes,
    "Dockerfile": check_dockerfile,
}


def findings(program, deploy, parts):
    for part in parts:
        yield from CHECKS[part](program, deploy / part)


# One mistake each: file, what is replaced, by what.
MISTAKES = [
    ("systemd/vortex-worker.service", "--state-dir=", "--state-directory="),
    ("systemd/vortex-worker.service", "TimeoutStopSec=90", "TimeoutStopSec=60"),
    ("systemd/vortex-worker.service", "KillMode=mixed", "KillMode=control-group"),
    ("systemd/vortex-controller.service", "vortex controller", "vortex controler"),
    ("systemd/vortex-controller.service", "VORTEX_CONTROLLER_TLS_KEY_FILE", "VORTEX_CONTROLLER_TLS_KEY"),
    ("systemd/controller.toml", "advertise_url", "advertised_url"),
    ("systemd/worker.env", "VORTEX_CA_FILE", "VORTEX_CA"),
    ("compose/compose.yaml", "[controller]", "[controllers, serve]"),
    ("compose/compose.yaml", "VORTEX_DATABASE_URL:", "VORTEX_DATABASE_URI:"),
    ("compose/compose.yaml", "http://controller-2:8080\n  controller-3", "http://controller-1:8080\n  controller-3"),
    ("compose/compose.yaml", "--role admin --offline", "--role admin --off-line"),
    ("kubernetes/controllers.yaml", "containerPort: 8443", "containerPort: 8080"),
    ("kubernetes/controllers.yaml", "name: vortex-database, key: url", "name: vortex-database, key: dsn"),
    ("kubernetes/controllers.yaml", "minAvailable: 2", "minAvailable: 3"),
    ("kubernetes/controllers.yaml", "enableServiceLinks: false", "enableServiceLinks: true"),
    ("kubernetes/workers.yaml", "terminationGracePeriodSeconds: 330", "terminationGracePeriodSeconds: 300"),
    ("kubernetes/workers.yaml", "vortex-2.vortex-controllers", "vortex-3.vortex-controllers"),
    ("Dockerfile", "libsodium23 ", ""),
]


def check_the_checks(program):
    for path, right, wrong in MISTAKES:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "deploy"
            shutil.copytree(ROOT / "deploy", copy)
            text = (copy / path).read_text()
            if right not in text:
                yield f"{path} has no `{right}` to make a mistake in"
                continue
            (copy / path).write_text(text.replace(right, wrong))
            if not list(findings(program, copy, [path.split("/", maxsplit=1)[0]])):
                yield f"`{wrong}` in {path} is not found"


# Probes, as a kubelet sends them.

def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def eventually(port, path):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if answers(port, path):
            return True
        time.sleep(0.05)
    return False


def check_probes(paths):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("VORTEX_")}
    ports = {"controller": free_port(), "worker": free_port()}
    with tempfile.TemporaryDirectory() as place, open(Path(place) / "log", "wb") as log:
        started = []
        for part, flags in (
                ("controller", [f"--controller.listen=127.0.0.1:{ports['controller']}", "--no-tokens",
                                f"--database.path={place}/vortex.db"]),
                ("worker", ["--server", f"http://127.0.0.1:{ports['controller']}", "--health-address=127.0.0.1",
                            f"--health-port={ports['worker']}", f"--state-dir={place}/state",
                            f"--work-dir={place}/work"])):
            started.append(subprocess.Popen([VORTEX, part, *flags, "--tuning=testing"], env=clean, stderr=log))
        try:
            for part, port in ports.items():
                for path in paths:
                    if not eventually(port, path):
                        yield f"a {part} does not answer {path}: {(Path(place) / 'log').read_text()}"
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(timeout=LIMIT)


def main():
    program = Program()
    wrong = list(findings(program, ROOT / "deploy", CHECKS))
    wrong += check_docs(program, ROOT / "docs/deploy.md")
    if not wrong:
        wrong += check_the_checks(program)
        wrong += check_probes(probe_paths(ROOT / "deploy/kubernetes"))
    for line in wrong:
        print(f"FAILED: {line}", file=sys.stderr)
    print("deploy: ok" if not wrong else f"deploy: {len(wrong)} findings")
    return 1 if wrong else 0


sys.exit(main())
