"""Writes the copy of a source that holds all of its mutants, and finds its way back from an error there."""

from mutate.mutant import Swap, Wrap

RUNTIME = '#include "tests/mutants/mutant.h"\n'


def _insertions(mutants):
    """(offset, order, length replaced, text, mutant): sorted, each text lands where it belongs."""
    pieces, swaps = [], set()
    for layer, mutant in enumerate(mutants):
        for nth, edit in enumerate(mutant.edits):
            if isinstance(edit, Wrap):
                before, after = (t.replace("{id}", mutant.id) for t in (edit.before, edit.after))
                size = edit.end - edit.begin
                # Ends come before beginnings; inner ends first, outer beginnings first. Of equal
                # pieces the one noted last is the inner one.
                pieces.append((edit.begin, (1, -size, layer, nth), 0, before, mutant))
                pieces.append((edit.end, (0, size, -layer, -nth), 0, after, mutant))
            elif isinstance(edit, Swap) and (edit.begin, edit.text) not in swaps:
                swaps.add((edit.begin, edit.text))
                pieces.append((edit.begin, (2, 0, 0, 0), edit.end - edit.begin, edit.text, mutant))
    pieces.sort(key=lambda piece: piece[:2])
    return pieces


class Copy:
    """The text of a mutated source and where in it each mutant stands."""

    def __init__(self, source, mutants):
        out, at, size = [], 0, 0
        self.spans = {}

        def put(text):
            nonlocal size
            out.append(text)
            size += len(text)

        put(RUNTIME.encode())
        for offset, _, length, text, mutant in _insertions(mutants):
            put(source[at:offset])
            first, _ = self.spans.get(mutant.id, (size, size))
            put(text.encode())
            self.spans[mutant.id] = (first, size)
            at = offset + length
        put(source[at:])
        self.text = b"".join(out)

    def at(self, line, column):
        """The innermost mutant at a place of the copy (both from 1), or None."""
        lines = self.text.split(b"\n")
        if line > len(lines):
            return None
        offset = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
        around = [(end - begin, id) for id, (begin, end) in self.spans.items() if begin <= offset < end]
        return min(around)[1] if around else None

    def on_line(self, line):
        """All mutants that touch a line."""
        lines = self.text.split(b"\n")
        begin = sum(len(one) + 1 for one in lines[: line - 1])
        end = begin + len(lines[line - 1]) if line <= len(lines) else begin
        return [id for id, (first, last) in self.spans.items() if first <= end and last >= begin]
