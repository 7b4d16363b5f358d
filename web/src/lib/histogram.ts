// Quantiles out of a Prometheus histogram, summed over its labels.

export function quantiles(text: string, name: string, wanted: number[]): { count: number; values: number[] } {
  const sums = new Map<number, number>();
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${name}_bucket{`)) continue;
    const bound = /le="([^"]+)"/.exec(line)?.[1];
    const value = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (bound === undefined || !Number.isFinite(value)) continue;
    const le = bound === '+Inf' ? Infinity : Number(bound);
    sums.set(le, (sums.get(le) ?? 0) + value);
  }
  const buckets = [...sums].sort((a, b) => a[0] - b[0]);
  const count = buckets.at(-1)?.[1] ?? 0;
  return { count, values: wanted.map((share) => quantile(buckets, count * share)) };
}

/** Within its bucket, as far as the rank says; what is beyond the last bound is shown as that. */
function quantile(buckets: [number, number][], rank: number): number {
  let below = 0;
  let from = 0;
  for (const [le, upTo] of buckets) {
    if (upTo >= rank && upTo > below) {
      if (le === Infinity) return from;
      return from + ((le - from) * (rank - below)) / (upTo - below);
    }
    below = upTo;
    from = le === Infinity ? from : le;
  }
  return from;
}
