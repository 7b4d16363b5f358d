"""The kinds of mistakes: walks the syntax of a source and notes every place where one could be made.

    negate      a condition, or one side of && and ||, turned round
    taken       an early return that is always taken; not-taken: never
    compare     < with <=, > with >=, == with !=
    logic       && with ||
    arithmetic  + with -
    constant    a number doubled, zero made one
    flip        true with false
    drop        a statement left out; reload: one that fills a field from a row, or such a field of a list

Left alone: what macros make (VX_ASSERT, REACHED), what planted bugs switch on, and what the compiler
has to know while it compiles.
"""

import re

from mutate.expressions import ON, Expressions, planted
from mutate.mutant import Mutant, Swap, Wrap, one_line
from mutate.syntax import plain

_FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl"}
# Below these stand things that are not written here or that must be known at compile time.
_SKIP = {
    "CXXDefaultArgExpr", "CXXDefaultInitExpr", "ConstantExpr", "StaticAssertDecl", "EnumDecl", "ParmVarDecl",
    "UsingDecl", "TypeAliasDecl", "UnaryExprOrTypeTraitExpr", "RequiresExpr", "CXXNoexceptExpr",
}
_EFFECTS = {"CallExpr", "CXXMemberCallExpr", "CXXOperatorCallExpr", "CompoundAssignOperator"}


def only_marks(node):
    """A statement in which nothing happens but what macros do: marks and assertions."""
    if node.kind == "CompoundStmt":
        return all(map(only_marks, node.children))
    return not node.here and node.kind in ("DoStmt", "ParenExpr", "ConditionalOperator")


def makes_room(node):
    """A call that only makes room in advance, or gives it back: nobody misses it."""
    return node.kind == "CXXMemberCallExpr" and node.children[0].name in ("reserve", "shrink_to_fit")


class Finder(Expressions):
    def __init__(self, file, source):
        self.file = file
        self.source = source  # bytes
        self.mutants = []
        self.seen = set()
        self.function = ""
        self.left_out = set()  # where statements begin that another mutant leaves out, or that do nothing
        self.support = []  # edits that every mutant here needs as well

    def text(self, begin, end):
        return self.source[begin:end].decode()

    def add(self, kind, span, mutated, edits, original=None):
        begin, end = span
        if (kind, begin, end) in self.seen:
            return
        self.seen.add((kind, begin, end))
        line = self.source.count(b"\n", 0, begin) + 1
        self.mutants.append(Mutant(
            file=self.file, function=self.function, kind=kind, begin=begin, end=end, line=line,
            original=original or one_line(self.text(begin, end)), mutated=one_line(mutated),
            edits=list(edits) + self.support))

    # Walking

    def visit(self, node):
        if node.kind in _SKIP or node.get("isImplicit") and node.kind != "VarDecl":
            return
        if node.kind not in ("NamespaceDecl", "CXXCtorInitializer") and not node.here:
            return
        if node.kind in _FUNCTIONS:
            return self.function_body(node)
        handler = getattr(self, "on_" + node.kind, None)
        if handler is None:
            self.visit_all(node.children)
        else:
            handler(node)

    def visit_all(self, nodes):
        for node in nodes:
            self.visit(node)

    def function_body(self, node):
        if node.get("constexpr") or node.get("explicitlyDefaulted") or node.get("explicitlyDeleted"):
            return
        outer, self.function = self.function, self.function or node.name
        self.visit_all(node.children)
        self.function = outer

    def on_FunctionTemplateDecl(self, node):
        # The first is what is written, the others are what the compiler made of it.
        self.visit_all([c for c in node.children if c.kind in _FUNCTIONS][:1])

    def on_ClassTemplateDecl(self, node):
        self.visit_all([c for c in node.children if c.kind == "CXXRecordDecl"][:1])

    def on_LambdaExpr(self, node):
        self.visit_all([c for c in node.children if c.kind == "CompoundStmt"][-1:])

    def on_VarDecl(self, node):
        if not node.get("constexpr"):
            return self.visit_all(node.children)
        known = re.fullmatch(r"const (.*::)?(u?int\d+_t|unsigned.*|int|long|Duration|.*size_t)", node.type)
        word = self.source.find(b"constexpr", node.begin, node.end)
        if not known or word < 0:
            return
        outer, self.support = self.support, [Swap(word, word + len("constexpr"), "const")]
        name, self.function = self.function, self.function or node.name
        self.visit_all(node.children)
        self.support, self.function = outer, name

    def on_CXXMemberCallExpr(self, node):
        if not makes_room(node):
            self.visit_all(node.children)

    # Statements

    def on_CompoundStmt(self, node):
        for child in node.children:
            self.statement(child)

    def statement(self, node):
        """A node where a statement stands, which could be left out."""
        inner = plain(node)
        if inner.here and self.can_be_dropped(inner):
            self.drop(inner)
        self.visit(node)

    def can_be_dropped(self, node):
        if node.begin in self.left_out:
            return False
        if node.kind in _EFFECTS or node.kind in ("ContinueStmt", "BreakStmt"):
            return not makes_room(node)
        if node.kind == "BinaryOperator":
            return node.get("opcode") in ("=", ",")
        if node.kind == "UnaryOperator":
            return node.get("opcode") in ("++", "--")
        # The value of a function that returns nothing is a call.
        return node.kind == "ReturnStmt" and any(plain(c).type == "void" for c in node.children)

    def drop(self, node):
        end = self.source.find(b";", node.end)
        if end < 0 or self.source[node.end:end].strip():
            return
        kind = "reload" if self.fills_field(node) else "drop"
        self.add(kind, (node.begin, end + 1), "nothing",
                 [Wrap(node.begin, end + 1, "{ if (!" + ON + ") { ", " } }")])

    def fills_field(self, node):
        reloads = self.file.endswith("/load.cc") or self.function.startswith("restore_")
        return reloads and re.match(r"[\w.\[\]>-]+(\.|->)\w+ = ", self.text(node.begin, node.end)) is not None

    def on_IfStmt(self, node):
        parts = list(node.children)
        if node.get("hasInit"):
            self.visit(parts.pop(0))
        variable = parts.pop(0) if node.get("hasVar") else None
        condition, then, *other = parts
        fixed = planted(condition)
        if variable is not None:
            self.visit(variable)
        elif not node.get("isConstexpr") and fixed is None and not all(map(only_marks, [then, *other])):
            # Both ways of going wrong, instead of both at once.
            if not self.early_return(condition, then):
                self.condition(condition)
            self.visit(condition)
        if fixed is not False:
            self.statement(then)
        for branch in other:
            if fixed is not True:
                self.statement(branch)

    def early_return(self, condition, then):
        last = then.children[-1] if then.kind == "CompoundStmt" and then.children else then
        if last.kind != "ReturnStmt":
            return False
        span = (condition.begin, condition.end)
        self.left_out.add(last.begin)
        self.add("taken", span, "true", [Wrap(*span, "(" + ON + " || static_cast<bool>(", "))")])
        self.add("not-taken", span, "false", [Wrap(*span, "(!" + ON + " && static_cast<bool>(", "))")])
        return True

    def loop(self, condition, body):
        if condition is not None and condition.type:
            self.condition(condition)
            self.visit(condition)
        self.statement(body)

    def on_WhileStmt(self, node):
        if node.get("hasVar"):
            return self.visit_all(node.children)
        self.loop(node.children[0], node.children[-1])

    def on_DoStmt(self, node):
        self.loop(node.children[1], node.children[0])

    def on_ForStmt(self, node):
        # Empty parts are left out of the children; the condition is the one of type bool.
        *head, body = node.children
        condition = next((part for part in head if plain(part).type == "bool"), None)
        self.visit_all(part for part in head if part is not condition)
        self.loop(condition, body)

    def on_CXXForRangeStmt(self, node):
        for part in node.children[:-1]:
            if part.kind == "DeclStmt" and part.children and part.children[0].name.startswith("__range"):
                self.visit_all(part.children[0].children)
        self.statement(node.children[-1])

    def on_SwitchStmt(self, node):
        # The break at its very end does nothing.
        last = node.children[-1]
        while last.kind in ("CompoundStmt", "CaseStmt", "DefaultStmt") and last.children:
            last = last.children[-1]
        if last.kind == "BreakStmt":
            self.left_out.add(last.begin)
        self.visit_all(node.children)

    def on_CaseStmt(self, node):
        self.statement(node.children[-1])

    on_DefaultStmt = on_CaseStmt
