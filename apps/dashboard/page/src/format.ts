// Numbers and times as people read them.

/** Six digits; the table's cell has all of them as its title. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value !== 0 && (Math.abs(value) >= 1e9 || Math.abs(value) < 1e-4)) return String(Number(value.toPrecision(4)).toExponential());
  return String(Number(value.toPrecision(6)));
}

export function count(n: number, noun: string, plural = noun + "s"): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? noun : plural}`;
}

/** "0.25 s", "12 s", "1:02:03" */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  const s = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** Local time, "2025-01-31 12:00:00". */
export function moment(unix: number): string {
  if (!Number.isFinite(unix)) return "";
  const d = new Date(unix * 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (n >= 1024 && at + 1 < units.length) { n /= 1024; ++at; }
  return `${at === 0 ? n : n.toFixed(1)} ${units[at]}`;
}

/** A word for a shell. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}
