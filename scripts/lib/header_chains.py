#!/usr/bin/env python3
"""Puts the headers of the folders given into chains, one a line: each header of a chain includes the one before.

A translation unit that includes a chain in its order proves of each header what a unit of its own would: all
that stands before a header is what that header includes anyway. There are as few costly units as possible,
which is a bit more than half as many as headers.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
# Seconds for the parse of what is large; the rest of a header's includes counts little.
COSTLY = {"boost/asio": 2.0, "boost/beast": 2.0, "boost/json": 0.6, "gtest/": 0.8, "gmock/": 1.0, "fmt/": 0.4}


class Headers:
    def __init__(self, folders):
        self.all = sorted(h for f in folders for h in (ROOT / f).rglob("*.h") if h.name != "pch.h")
        self._reached = {}

    def reached(self, header):
        """The headers that it includes, directly or not, and the names of those that are not ours."""
        if header not in self._reached:
            ours, others = self._reached[header] = (set(), set())
            for sign, name in INCLUDE.findall(header.read_text()):
                places = (header.parent / name, ROOT / "src" / name, ROOT / name)
                target = next((p for p in places if sign == '"' and p.is_file()), None)
                if target is None:
                    others.add(name)
                    continue
                target = target.resolve()
                below = self.reached(target)
                ours |= {target} | below[0]
                others |= below[1]
        return self._reached[header]

    def cost(self, header):
        ours, others = self.reached(header)
        large = sum(cost for part, cost in COSTLY.items() if any(o.startswith(part) for o in others))
        return 0.3 + 0.02 * (len(ours) + len(others)) + large


def next_in_chain(headers):
    """For as many headers as possible, costly ones first, one that includes it and continues its chain."""
    includers = {h: [g for g in headers.all if h in headers.reached(g)[0]] for h in headers.all}
    previous = {}

    def place(header, tried):
        for includer in includers[header]:
            if includer in tried:
                continue
            tried.add(includer)
            if includer not in previous or place(previous[includer], tried):
                previous[includer] = header
                return True
        return False

    for header in sorted(headers.all, key=headers.cost, reverse=True):
        place(header, set())
    return {header: includer for includer, header in previous.items()}, previous


def main():
    headers = Headers(sys.argv[1:])
    following, previous = next_in_chain(headers)
    for header in headers.all:
        if header in previous:
            continue
        chain = [header]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        print(" ".join(str(h.relative_to(ROOT)) for h in chain))


main()
