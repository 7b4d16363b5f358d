// What each kind of evidence means: proof is acted on at once, the rest after a wait.

const texts: Record<string, string> = {
  exit: 'its supervisor saw the process end',
  new_incarnation: 'the same worker registered again',
  operator: 'an operator declared it dead',
  goodbye: 'it left with tasks still assigned',
  hint: 'its connection closed and its address refuses connections',
  silence: 'it was silent until its lease ended',
  reconciler: 'tasks were assigned to a worker that is gone',
};

export function evidenceText(evidence: string): string {
  return texts[evidence] ?? '';
}
export function isProof(evidence: string): boolean {
  return ['exit', 'new_incarnation', 'operator', 'goodbye'].includes(evidence);
}
