"""The syntax of one source, as clang reads it: what clang prints as JSON, made easy to walk.

Positions are byte offsets into the source. A node that stems from a macro or another file has none, so
nothing of it can be mutated.
"""

import json
import subprocess

CLANG = "clang++-19"


class Node:
    """One node with its place in the source."""

    def __init__(self, raw):
        self.raw = raw
        self.kind = raw.get("kind", "")
        self.begin, self.end = _span(raw.get("range", {}))
        self._children = None

    @property
    def children(self):
        if self._children is None:
            self._children = [Node(c) for c in self.raw.get("inner", []) if c]
        return self._children

    @property
    def here(self):
        """It stands in the source itself."""
        return self.begin is not None

    @property
    def type(self):
        of = self.raw.get("type", {})
        return of.get("desugaredQualType", of.get("qualType", ""))

    @property
    def name(self):
        return self.raw.get("name", "")

    def get(self, key, default=None):
        return self.raw.get(key, default)

    def below(self):
        """All nodes below, in order of the source."""
        for child in self.children:
            yield child
            yield from child.below()

    def refers_to(self):
        return self.raw.get("referencedDecl", {}).get("name", "")


def _span(place):
    begin, end = place.get("begin", {}), place.get("end", {})
    for one in (begin, end):
        if "offset" not in one or "includedFrom" in one:
            return None, None
    return begin["offset"], end["offset"] + end["tokLen"]


# Nodes around an expression that are not written down.
_UNWRITTEN = {
    "ExprWithCleanups", "ImplicitCastExpr", "MaterializeTemporaryExpr", "CXXBindTemporaryExpr",
    "FullExpr", "SubstNonTypeTemplateParmExpr",
}


def plain(node):
    """The written expression inside of what the compiler wraps around it."""
    while node.kind in _UNWRITTEN and node.children:
        node = node.children[-1]
    return node


def bare(node):
    """Like plain, and without parentheses."""
    node = plain(node)
    while node.kind == "ParenExpr":
        node = plain(node.children[0])
    return node


def _clang(root, *arguments):
    command = [CLANG, "-std=c++23", f"-I{root}/src", "-w", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if done.returncode != 0:
        raise RuntimeError(f"clang cannot read {arguments[-1]}\n{done.stderr}")
    return done.stdout


def read_headers(root, folder, place):
    """Reads all headers of a folder once, for all of its sources: most of their time is spent there."""
    headers = sorted((root / folder).glob("*.h"))
    everything = place.with_suffix(".h")
    everything.write_text("".join(f'#include "{h.relative_to(root / "src")}"\n' for h in headers))
    _clang(root, "-o", place, "-x", "c++-header", everything)


def parse(path, root, namespace, headers=None):
    """The declarations of `namespace` that the source itself holds."""
    before = ["-include-pch", headers] if headers else []
    text = _clang(root, *before, "-fsyntax-only", "-Xclang", "-ast-dump=json",
                  "-Xclang", f"-ast-dump-filter={namespace}", path)
    found = []
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return found
        raw, at = decoder.raw_decode(text, at)
        # A match inside of another match is printed again by itself: only whole namespaces count.
        if raw.get("kind") == "NamespaceDecl":
            node = Node(raw)
            if node.here:
                found.append(node)
