"""What is known of each mutant so far, in a file that a run can go on from.

One JSON object per line. The first line says which programs it was: what other programs found says
nothing about these.
"""

import json
import threading


class State:
    def __init__(self, path, programs, keep_killed, tell):
        self.path = path
        self.results = {}
        self.lock = threading.Lock()
        if path is None:
            return
        old = path.read_text().splitlines() if path.exists() else []
        head = json.loads(old[0]) if old else {}
        same = head.get("programs") == programs
        for line in old[1:]:
            row = json.loads(line)
            if same or keep_killed and row["tests"] and row["simulator"]:
                self.results[row["id"]] = row
        if old and not same:
            tell(f"{path}: of other programs; {len(self.results)} results are taken over")
        path.write_text("\n".join(json.dumps(r) for r in [{"programs": programs}, *self.results.values()]) + "\n")

    def put(self, row):
        with self.lock:
            self.results[row["id"]] = row
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
