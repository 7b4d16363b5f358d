#!/usr/bin/env python3
"""tests/e2e/search_secrets.py PASSWORD KEY [--folder DIR] [--process NAME=PID=MARK]... [--tree NAME=PID=MARK]...

Searches files, and the memory of running processes, for the values of two secrets in every form: as they are,
in base64 at every offset, URL-encoded, as JSON. PASSWORD is a file with one value, KEY one with lines. A process
must hold MARK, which is no secret: a search that finds nothing at all has not looked. --tree searches a process
and all that descend from it. Exits with 1 and the places if a value is found, with 2 if it could not look.
"""

import argparse
import base64
import json
import os
import sys
import urllib.parse
from pathlib import Path


def forms_of(password, key):
    lines = [line for line in Path(key).read_bytes().split(b"\n") if line and not line.startswith(b"-----")]
    forms = set()
    for value in [Path(password).read_bytes().strip()] + lines:
        forms.add(value)
        for before in range(3):
            encoded = base64.b64encode(b"\0" * before + value)
            core = encoded[[0, 2, 3][before]:(before + len(value)) * 8 // 6]
            forms |= {core, core.replace(b"+", b"-").replace(b"/", b"_")}
        text = value.decode()
        for form in (urllib.parse.quote(text, safe=""), urllib.parse.quote(text), urllib.parse.quote_plus(text),
                     json.dumps(text)[1:-1]):
            forms.add(form.encode())
    return forms


def regions(pid):
    """What a process could have written to: programs and libraries as they are on disk hold no secrets."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        parts = line.split(maxsplit=5)
        name = parts[5] if len(parts) > 5 else ""
        if "r" not in parts[1] or name in ("[vvar]", "[vsyscall]", "[vdso]"):
            continue
        if name.startswith("/") and "w" not in parts[1]:
            continue
        begin, end = (int(number, 16) for number in parts[0].split("-"))
        yield begin, end, name


def memory_of(pid):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, name in regions(pid):
            try:
                memory.seek(begin)
                data = b"".join(iter(lambda: memory.read(min(1 << 24, end - memory.tell())), b""))
            except (OSError, ValueError):  # gone, or nothing behind it
                continue
            yield name or f"{begin:x}", data


GONE = (FileNotFoundError, ProcessLookupError)


def descendants(pid):
    """With their names; what ends meanwhile has none."""
    found = {pid: Path(f"/proc/{pid}/comm").read_text().strip()}
    open_ones = [pid]
    for one in open_ones:
        try:
            children = [int(child) for task in Path(f"/proc/{one}/task").iterdir()
                        for child in (task / "children").read_text().split()]
            found.update({child: Path(f"/proc/{child}/comm").read_text().strip() for child in children})
        except GONE:
            continue
        open_ones += children
    return found


def search_process(name, pid, mark, forms):
    found, marked, searched = [], False, 0
    for place, data in memory_of(pid):
        searched += len(data)
        marked = marked or mark in data
        data = data.replace(bytes(4096), b"")
        for form in forms:
            at = data.find(form)
            if at >= 0:
                found.append(f"{name} ({pid}), {place}: {form!r} in {data[max(0, at - 48):at + len(form) + 48]!r}")
    if not Path(f"/proc/{pid}/maps").read_text():
        raise ProcessLookupError  # it ended meanwhile
    if not marked:
        print(f"{name} ({pid}): {mark!r} is not in its memory, {searched} bytes: it was not searched")
        sys.exit(2)
    return found, searched


def search_folder(folder, forms):
    found, files = [], 0
    for path in Path(folder).rglob("*"):
        if not path.is_file():
            continue
        files += 1
        data = path.read_bytes()
        found += [f"{path}: {form!r}" for form in forms if form in data]
    return found, files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("password")
    parser.add_argument("key")
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("--process", action="append", default=[])
    parser.add_argument("--tree", action="append", default=[])
    options = parser.parse_args()
    forms, found = forms_of(options.password, options.key), []
    processes = [entry.split("=", 2) for entry in options.process]
    for entry in options.tree:
        name, pid, mark = entry.split("=", 2)
        processes += [(f"{name}/{comm}", one, mark) for one, comm in descendants(int(pid)).items()]
    for name, pid, mark in processes:
        try:
            places, searched = search_process(name, int(pid), mark.encode(), forms)
        except GONE:
            print(f"{name} ({pid}) is gone")
            continue
        print(f"searched {searched >> 10} KiB of {name} for {len(forms)} forms")
        found += places
    for folder in options.folder:
        places, files = search_folder(folder, forms)
        print(f"searched {files} files for {len(forms)} forms")
        found += places
    if found:
        print("\n".join(found))
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except PermissionError as refused:
        print(f"cannot look: {refused}")
        sys.exit(2)
