"""Mistakes in expressions: conditions, comparisons, logic, arithmetic, constants. See kinds.py."""

import re

from mutate.mutant import Swap, Wrap
from mutate.syntax import bare

ON = "::vx_mutants::is_on(0x{id}u)"
_CALL = "::vx_mutants::%s(0x{id}u, "

_COMPARE = {
    "<": ("less", "<="), "<=": ("less_equal", "<"), ">": ("greater", ">="), ">=": ("greater_equal", ">"),
    "==": ("equal", "!="), "!=": ("not_equal", "=="),
}
_ARITHMETIC = {"+": ("plus", "-"), "-": ("minus", "+")}
_OPERATORS = {"BinaryOperator", "CXXOperatorCallExpr", "CXXRewrittenBinaryOperator"}


def operator_of(node):
    """What a node that may be an operator is written as, or None."""
    if node.kind == "BinaryOperator":
        return node.get("opcode")
    if node.kind not in _OPERATORS:
        return None
    for inner in node.below():
        name = inner.refers_to()
        if not name.startswith("operator"):
            continue
        if node.kind == "CXXRewrittenBinaryOperator":
            return "rewritten"
        return name[len("operator"):].strip()
    return None


def planted(node):
    """The value of a condition when nothing is planted: True, False, or None if it depends on more."""
    node = bare(node)
    if node.kind == "CallExpr" and any(n.refers_to() == "planted" for n in node.below()):
        return False
    if node.kind == "UnaryOperator" and node.get("opcode") == "!":
        inner = planted(node.children[0])
        return None if inner is None else not inner
    if node.kind == "BinaryOperator" and node.get("opcode") in ("&&", "||"):
        sides = [planted(side) for side in node.children]
        decisive = node.get("opcode") == "||"
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    return None


class Expressions:
    """The part of the finder that reads expressions; it is told by the other part where they stand."""

    def condition(self, node):
        inner = bare(node)
        operator = operator_of(inner)
        # Where == is all there is, `compare` is the same mutant.
        if not inner.here or operator in ("==", "!=", "&&", "||") or self.written(inner) in ("==", "!="):
            return
        if planted(inner) is None:
            span = (node.begin, node.end)
            self.add("negate", span, f"!({self.text(*span)})",
                     [Wrap(*span, "(" + ON + " != static_cast<bool>(", "))")])

    def on_ConditionalOperator(self, node):
        fixed = planted(node.children[0])
        if fixed is None:
            self.condition(node.children[0])
            self.visit(node.children[0])
        if fixed is not False:
            self.visit(node.children[1])
        if fixed is not True:
            self.visit(node.children[2])

    def on_BinaryOperator(self, node):
        if node.get("opcode") in ("&&", "||"):
            return self.logic(node)
        self.operator(node)

    def on_CXXOperatorCallExpr(self, node):
        self.operator(node)

    on_CXXRewrittenBinaryOperator = on_CXXOperatorCallExpr

    def place_of_operator(self, node):
        """Where the operator between two sides is written."""
        if node.kind == "BinaryOperator":
            left, right = node.children
            if not (left.here and right.here):
                return None
            written = re.compile(rb"\s*([<>=!+\-&|]+)").match(self.source, left.end)
            return written and (written.start(1), written.end(1))
        for inner in node.below():
            if inner.refers_to().startswith("operator"):
                written = inner.here and re.compile(rb"[<>=!+\-]+").match(self.source, inner.begin)
                return (written.start(), written.end()) if written else None
        return None

    def written(self, node):
        place = self.place_of_operator(node) if node.kind in _OPERATORS else None
        return self.text(*place) if place else None

    def operator(self, node):
        place = self.place_of_operator(node)
        # A part of what the compiler makes of a < b by <=> ends at its operator.
        between = place and node.begin < place[0] and place[1] < node.end
        sign = self.text(*place) if between else None
        if sign in _COMPARE:
            self.replace(node, place, "compare", _COMPARE[sign])
        elif sign in _ARITHMETIC and self.can_turn(node):
            self.replace(node, place, "arithmetic", _ARITHMETIC[sign])
        self.visit_all(node.children)

    def can_turn(self, node):
        if "*" in node.type or "basic_string" in node.type or "iterator" in node.type:
            return False
        for inner in node.below():
            signature = re.fullmatch(r"(\w+) \((\w+), (\w+)\)", inner.type)
            if inner.refers_to() == "operator-" and signature:
                result, left, right = signature.groups()
                return not (left == right and result != left)  # a point minus a point
            if inner.refers_to().startswith("operator"):
                break
        return True

    def replace(self, node, place, kind, into):
        function, sign = into
        left, right = self.text(node.begin, place[0]).rstrip(), self.text(place[1], node.end).lstrip()
        self.add(kind, (node.begin, node.end), f"{left} {sign} {right}",
                 [Wrap(node.begin, node.end, _CALL % function, ")"), Swap(*place, ",")])

    def logic(self, node):
        left, right = node.children
        place = self.place_of_operator(node)
        if place and planted(left) is None and planted(right) is None:
            # By De Morgan: a || b is !(!a && !b), so no side is written twice and both stay lazy.
            sign = "||" if node.get("opcode") == "&&" else "&&"
            side = "(" + ON + " != static_cast<bool>("
            self.add("logic", (node.begin, node.end),
                     f"{self.text(node.begin, place[0]).rstrip()} {sign} {self.text(place[1], node.end).lstrip()}",
                     [Wrap(node.begin, node.end, "(" + ON + " != (", "))"),
                      Wrap(left.begin, left.end, side, "))"), Wrap(right.begin, right.end, side, "))")])
        for side in (left, right):
            if planted(side) is None:
                if operator_of(bare(side)) not in _COMPARE and self.written(bare(side)) not in _COMPARE:
                    self.condition(side)
                self.visit(side)

    def on_IntegerLiteral(self, node):
        if not self.source[node.begin:node.begin + 1].isdigit():
            return  # the compiler's own, as in a < b by <=>
        value = int(node.get("value"))
        self.add("constant", (node.begin, node.end), str(value * 2 if value else 1),
                 [Wrap(node.begin, node.end, _CALL % "number", ")")])

    def on_CXXBoolLiteralExpr(self, node):
        word = self.text(node.begin, node.end)
        if word in ("true", "false"):
            self.add("flip", (node.begin, node.end), "false" if word == "true" else "true",
                     [Wrap(node.begin, node.end, "(" + ON + " != ", ")")])

    def on_InitListExpr(self, node):
        reloads = self.file.endswith("/load.cc") or self.function.startswith("restore_")
        for child in node.children:
            if reloads and child.here and re.fullmatch(r"\w+(\.\w+)+", self.text(child.begin, child.end)):
                span = (child.begin, child.end)
                self.add("reload", span, "{}", [Wrap(*span, _CALL % "or_default", ")")])
            self.visit(child)
