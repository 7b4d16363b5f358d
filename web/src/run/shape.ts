// The nodes of a DAG, what each needs and how many tasks it is known to have, out of its canonical
// specification.

export interface Shape {
  needs: Map<string, string[]>;
  sizes: Map<string, number>;
  /** Names of the signals that tasks wait for. */
  signals: string[];
}

interface NodeSpec {
  name?: string;
  needs?: string[];
  map?: { items?: unknown[]; over?: unknown };
  wait?: { signal?: string };
}

/** How many items are known before the run: those of a list or a range. */
function itemsOf(over: unknown): number {
  if (Array.isArray(over)) return over.length;
  const range = (over as { range?: { from?: number; to?: number; step?: number } } | undefined)?.range;
  if (range?.from === undefined || range.to === undefined) return 1;
  return Math.max(0, Math.floor((range.to - range.from) / (range.step ?? 1)) + 1);
}

export function shapeOf(spec: unknown): Shape {
  const needs = new Map<string, string[]>();
  const sizes = new Map<string, number>();
  const signals = new Set<string>();
  const tasks = (spec as { tasks?: Record<string, NodeSpec> | NodeSpec[] } | undefined)?.tasks;
  if (!tasks) return { needs, sizes, signals: [] };
  const entries: [string, NodeSpec][] = Array.isArray(tasks) ? tasks.map((node) => [node.name ?? '', node]) : Object.entries(tasks);
  for (const [name, node] of entries) {
    needs.set(name, node.needs ?? []);
    sizes.set(name, itemsOf(node.map?.items ?? node.map?.over));
    if (node.wait?.signal) signals.add(node.wait.signal);
  }
  return { needs, sizes, signals: [...signals] };
}
