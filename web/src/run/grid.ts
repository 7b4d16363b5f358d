// The tasks of a run as lines of cells: the items of a map, or the attempts of a single task.
import type { Attempt, Task } from '../api/client';

export interface GridRow {
  node: string;
  first: boolean; // the line that has the name
  total: number; // tasks of the node
  tasks: Task[];
  attempts: Attempt[] | null; // instead of the tasks
}

export function gridRows(tasks: Task[], attempts: Map<string, Attempt[]>, columns: number): GridRow[] {
  const byNode = new Map<string, Task[]>();
  for (const task of tasks) {
    const known = byNode.get(task.node);
    if (known) known.push(task);
    else byNode.set(task.node, [task]);
  }
  const rows: GridRow[] = [];
  for (const [node, all] of byNode) {
    const only = all.length === 1 ? all[0] : undefined;
    const tries = only ? attempts.get(only.id) : undefined;
    if (tries && tries.length > 1) {
      for (let at = 0; at < tries.length; at += columns) {
        rows.push({ node, first: at === 0, total: 1, tasks: [], attempts: tries.slice(at, at + columns) });
      }
      continue;
    }
    for (let at = 0; at < all.length; at += columns) {
      rows.push({ node, first: at === 0, total: all.length, tasks: all.slice(at, at + columns), attempts: null });
    }
  }
  return rows;
}
