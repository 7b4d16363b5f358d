// The nodes of a DAG, what each needs and how many tasks it is known to have, out of its canonical
// specification.

export interface Shape {
  needs: Map<string, string[]>;
  sizes: Map<string, number>;
}

interface NodeSpec {
  name?: string;
  needs?: string[];
  map?: { items?: unknown[]; over?: unknown };
}

export function shapeOf(spec: unknown): Shape {
  const needs = new Map<string, string[]>();
  const sizes = new Map<string, number>();
  const tasks = (spec as { tasks?: Record<string, NodeSpec> | NodeSpec[] } | undefined)?.tasks;
  if (!tasks) return { needs, sizes };
  const entries: [string, NodeSpec][] = Array.isArray(tasks) ? tasks.map((node) => [node.name ?? '', node]) : Object.entries(tasks);
  for (const [name, node] of entries) {
    needs.set(name, node.needs ?? []);
    const items = node.map?.items ?? node.map?.over;
    sizes.set(name, Array.isArray(items) ? items.length : 1);
  }
  return { needs, sizes };
}
