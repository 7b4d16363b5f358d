"""The list of mutants that change nothing that anybody could see, each with its reason.

    <number> <file> <kind>: <original> -> <mutated>
        why nobody can tell it from the original

Indented lines belong to the entry above; `#` begins a comment. The number is what counts.
"""

PLACE = "tests/mutants/equivalent.txt"


def read(root):
    """Number -> (first line, reason). Faults of the list itself are errors."""
    entries, now = {}, None
    path = root / PLACE
    for at, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            if now is None:
                raise RuntimeError(f"{PLACE}:{at}: a reason without an entry above it")
            entries[now] = (entries[now][0], (entries[now][1] + " " + line.strip()).strip())
            continue
        now = line.split()[0]
        if now in entries:
            raise RuntimeError(f"{PLACE}:{at}: {now} stands there twice")
        entries[now] = (line.strip(), "")
    for line, reason in entries.values():
        if not reason:
            raise RuntimeError(f"{PLACE}: no reason is given for: {line}")
    return entries


def stale(entries, mutants):
    """Entries that match no mutant any more."""
    known = {m.id for m in mutants}
    return [line for id, (line, _) in entries.items() if id not in known]
