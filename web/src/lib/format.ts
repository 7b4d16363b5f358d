// Times, durations and counts as people read them. Times are shown in the reader's zone, which is
// named wherever the whole time is shown.

const plainNumber = new Intl.NumberFormat('en-US');
const shortTime = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false,
});
const dayTime = new Intl.DateTimeFormat(undefined, {
  month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false,
});
const wholeTime = new Intl.DateTimeFormat(undefined, {
  year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit',
  second: '2-digit', fractionalSecondDigits: 3, hour12: false, timeZoneName: 'short',
});

export function count(value: number): string {
  return plainNumber.format(value);
}

/** "1 task", "2 tasks". */
export function counted(value: number, word: string, plural = word + 's'): string {
  return `${count(value)} ${value === 1 ? word : plural}`;
}

export function millis(time: string | null | undefined): number | null {
  return time ? Date.parse(time) : null;
}

export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '0 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return `${minutes} min ${whole % 60} s`;
}

export function between(from: string | null | undefined, to: string | null | undefined, now: number): string {
  const start = millis(from);
  if (start === null) return '';
  return duration((millis(to) ?? now) - start);
}

export function ago(time: string | null | undefined, now: number): string {
  const at = millis(time);
  if (at === null) return 'never';
  const ms = now - at;
  if (ms < -1000) return `in ${duration(-ms)}`;
  return ms < 1500 ? 'just now' : `${duration(ms)} ago`;
}

export function clock(time: string): string {
  return shortTime.format(new Date(time));
}
export function dayAndTime(time: string): string {
  return dayTime.format(new Date(time));
}
export function wholeMoment(time: string): string {
  return wholeTime.format(new Date(time));
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let left = value;
  let at = -1;
  while (left >= 1024 && at < units.length - 1) {
    left /= 1024;
    at += 1;
  }
  return `${left < 10 ? left.toFixed(1) : Math.round(left)} ${units[at]}`;
}

/** `worker_lost` as "worker lost". */
export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

/** An argument of a command that a shell takes as it is. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
