// The difference between two texts by lines: what was taken out, what was put in, and a little of
// what stands around it.

export interface DiffLine {
  kind: 'same' | 'out' | 'in' | 'gap';
  text: string; // of a gap: how many lines are left out
}

const cellsMax = 4_000_000;
const around = 3;

/** Pairs of equal lines, in order, of two lists that begin and end differently. */
function matches(a: string[], b: string[]): [number, number][] {
  // Beyond this the longest common part costs too much to find; all of it counts as changed.
  if (a.length * b.length > cellsMax) return [];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j]
        ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
        : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  const found: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found.push([i++, j++]);
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  return found;
}

export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const lines: DiffLine[] = a.slice(0, head).map((text) => ({ kind: 'same', text }));
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  let i = 0;
  let j = 0;
  for (const [x, y] of [...matches(left, right), [left.length, right.length] as [number, number]]) {
    while (i < x) lines.push({ kind: 'out', text: left[i++] ?? '' });
    while (j < y) lines.push({ kind: 'in', text: right[j++] ?? '' });
    if (x < left.length) lines.push({ kind: 'same', text: left[i++] ?? '' });
    j = Math.max(j, y + 1);
  }
  lines.push(...a.slice(a.length - tail).map((text): DiffLine => ({ kind: 'same', text })));
  return folded(lines);
}

/** Without the equal lines that are far from every change. */
function folded(lines: DiffLine[]): DiffLine[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.kind === 'same') return;
    near.fill(1, Math.max(0, at - around), Math.min(lines.length, at + around + 1));
  });
  const made: DiffLine[] = [];
  let skipped = 0;
  lines.forEach((line, at) => {
    if (!near[at]) {
      skipped += 1;
      return;
    }
    if (skipped) made.push({ kind: 'gap', text: String(skipped) });
    skipped = 0;
    made.push(line);
  });
  if (skipped && made.length) made.push({ kind: 'gap', text: String(skipped) });
  return made;
}
