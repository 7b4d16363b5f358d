// How a state looks: a tone, an icon and a word, the same everywhere.

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'warn' | 'quiet';
export type Icon =
  | 'check' | 'cross' | 'play' | 'clock' | 'dots' | 'arrow' | 'stop' | 'skip' | 'pause' | 'off'
  | 'idle' | 'drain' | 'alert';
export interface Look {
  tone: Tone;
  icon: Icon;
  word: string;
}

const looks: Record<string, Look> = {
  // Tasks and runs
  Waiting: { tone: 'quiet', icon: 'dots', word: 'Waiting' },
  Queued: { tone: 'wait', icon: 'clock', word: 'Queued' },
  Scheduled: { tone: 'busy', icon: 'arrow', word: 'Scheduled' },
  Running: { tone: 'busy', icon: 'play', word: 'Running' },
  Completed: { tone: 'good', icon: 'check', word: 'Completed' },
  Failed: { tone: 'bad', icon: 'cross', word: 'Failed' },
  Cancelled: { tone: 'quiet', icon: 'stop', word: 'Cancelled' },
  Skipped: { tone: 'quiet', icon: 'skip', word: 'Skipped' },
  Paused: { tone: 'warn', icon: 'pause', word: 'Paused' },
  // Workers
  REGISTERING: { tone: 'wait', icon: 'dots', word: 'Registering' },
  IDLE: { tone: 'good', icon: 'idle', word: 'Idle' },
  RUNNING: { tone: 'busy', icon: 'play', word: 'Running' },
  DRAINING: { tone: 'warn', icon: 'drain', word: 'Draining' },
  INACTIVE: { tone: 'quiet', icon: 'stop', word: 'Left' },
  OFFLINE: { tone: 'bad', icon: 'off', word: 'Offline' },
  // Dead letters
  open: { tone: 'bad', icon: 'alert', word: 'Open' },
  redriven: { tone: 'good', icon: 'check', word: 'Re-driven' },
  discarded: { tone: 'quiet', icon: 'stop', word: 'Discarded' },
  // Severities
  INFO: { tone: 'quiet', icon: 'dots', word: 'Info' },
  WARN: { tone: 'warn', icon: 'alert', word: 'Warning' },
  ERROR: { tone: 'bad', icon: 'cross', word: 'Error' },
};

export function lookOf(state: string): Look {
  return looks[state] ?? { tone: 'quiet', icon: 'dots', word: state };
}

export const taskStates = [
  'Running', 'Scheduled', 'Queued', 'Waiting', 'Completed', 'Failed', 'Cancelled', 'Skipped',
] as const;
export const runStates = ['Running', 'Completed', 'Failed', 'Cancelled'] as const;

export function isFinal(state: string): boolean {
  return state === 'Completed' || state === 'Failed' || state === 'Cancelled' || state === 'Skipped';
}

/** How an attempt ended, as a tone: lost to a worker is not the task's own failure. */
export function verdictTone(verdict: string | null | undefined): Tone {
  if (!verdict) return 'busy';
  if (verdict === 'completed') return 'good';
  if (verdict === 'cancelled') return 'quiet';
  const nobodysFault = ['self_fenced', 'drained', 'lost_in_transit', 'worker_lost', 'given_back', 'not_started_in_time'];
  return nobodysFault.includes(verdict) ? 'warn' : 'bad';
}
