// Scales and axes, for all figures: the one place that decides where a value is.
import { duration, short } from "../format";
import type { Mark, Size } from "./drawing";

export interface Tick { at: number; text: string }
export interface Scale {
  /** The pixel of a value; NaN for what the scale cannot show. */
  at(value: number): number;
  value(pixel: number): number;
  ticks: Tick[];
}

/** 1, 2 or 5 times a power of ten, so that there are about `wanted` of them. */
export function niceStep(span: number, wanted: number): number {
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough) ?? 10;
  return factor * power;
}

export function linear(low: number, high: number, from: number, to: number, wanted = 5, text: (v: number) => string = short): Scale {
  if (!(high > low)) { const pad = Math.abs(low) * 0.01 || 0.5; low -= pad; high += pad; }
  const at = (value: number) => from + ((value - low) / (high - low)) * (to - from);
  const step = niceStep(high - low, wanted);
  const ticks: Tick[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push({ at: at(i * step), text: text(Number((i * step).toPrecision(12))) });
  }
  return { at, value: (pixel) => low + ((pixel - from) / (to - from)) * (high - low), ticks };
}

export function logarithmic(low: number, high: number, from: number, to: number, wanted = 5): Scale {
  if (!(high > low)) { low *= 0.9; high = high * 1.1; }
  const [a, b] = [Math.log10(low), Math.log10(high)];
  const at = (value: number) => value > 0 ? from + ((Math.log10(value) - a) / (b - a)) * (to - from) : NaN;
  const ticks: Tick[] = [];
  const each = Math.max(1, Math.ceil((b - a) / wanted));
  const factors = b - a < 2.2 ? [1, 2, 5] : [1];
  for (let power = Math.floor(a); power <= Math.ceil(b); ++power) {
    if ((power - Math.floor(a)) % each !== 0) continue;
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push({ at: at(value), text: short(Number(value.toPrecision(12))) });
    }
  }
  return { at, value: (pixel) => 10 ** (a + ((pixel - from) / (to - from)) * (b - a)), ticks };
}

/** Of whole numbers, as iterations are. */
export function whole(low: number, high: number, from: number, to: number, wanted = 5): Scale {
  return linear(low, high, from, to, Math.max(1, Math.min(wanted, high - low)));
}

/** Words at equal distances; the value is the place in the list. */
export function category(words: string[], from: number, to: number): Scale {
  const step = (to - from) / Math.max(1, words.length);
  const at = (value: number) => from + (value + 0.5) * step;
  return { at, value: (pixel) => (pixel - from) / step - 0.5, ticks: words.map((text, i) => ({ at: at(i), text })) };
}

/** Seconds since a beginning. */
export function elapsed(high: number, from: number, to: number, wanted = 5): Scale {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const scale = linear(0, Math.max(high, 1e-3), from, to, wanted, duration);
  const step = steps.find((each) => each >= high / wanted);
  if (high < 5 || step === undefined) return scale;
  const ticks: Tick[] = [];
  for (let t = 0; t <= high; t += step) ticks.push({ at: scale.at(t), text: duration(t) });
  return { ...scale, ticks };
}

export interface Range { low: number; high: number; beyond: number; isLog: boolean }

/** The range of values without the few that would squeeze all others together, of which it says how
 *  many there are. */
export function rangeOf(values: ArrayLike<number>): Range | null {
  const finite = Float64Array.from(values as ArrayLike<number>).filter(Number.isFinite).sort();
  if (finite.length === 0) return null;
  const at = (share: number) => finite[Math.round(share * (finite.length - 1))]!;
  let [low, high] = [finite[0]!, finite[finite.length - 1]!];
  const isLog = low > 0 && high / low > 30;
  if (!isLog && finite.length >= 10) {
    const [a, b] = [at(0.05), at(0.95)];
    const width = b - a;
    if (width > 0 && high - b > 5 * width) high = b + 0.2 * width;
    if (width > 0 && a - low > 5 * width) low = a - 0.2 * width;
  }
  const beyond = finite.filter((each) => each < low || each > high).length;
  // A little room, so that the best mark is not half outside.
  const pad = isLog ? 1 + 0.04 * Math.log10(high / low) : (high - low) * 0.04;
  return isLog ? { low: low / pad, high: high * pad, beyond, isLog } : { low: low - pad, high: high + pad, beyond, isLog };
}

export function scaleOf(range: Range, from: number, to: number, wanted?: number): Scale {
  return range.isLog ? logarithmic(range.low, range.high, from, to, wanted) : linear(range.low, range.high, from, to, wanted);
}

export interface Inside { left: number; right: number; top: number; bottom: number }

export function inside(size: Size, margins: Partial<Inside> = {}): Inside {
  const { left = 62, right = 12, top = 20, bottom = 40 } = margins;
  return { left, right: Math.max(left + 20, size.width - right), top, bottom: Math.max(top + 20, size.height - bottom) };
}

/** Grid, ticks and titles. */
export function axes(box: Inside, x: Scale, y: Scale, titles: { x: string; y: string }): Mark[] {
  const marks: Mark[] = [];
  for (const tick of y.ticks) {
    marks.push({ kind: "path", points: [box.left, tick.at, box.right, tick.at], ink: "grid" });
    marks.push({ kind: "text", x: box.left - 6, y: tick.at, text: tick.text, ink: "muted", anchor: "end", most: box.left - 8 });
  }
  let free = -Infinity;
  for (const tick of x.ticks) {
    marks.push({ kind: "path", points: [tick.at, box.bottom, tick.at, box.bottom + 4], ink: "muted" });
    const half = 3.4 * tick.text.length;
    if (tick.at - half < free) continue;  // it would stand in the one before
    free = tick.at + half + 6;
    marks.push({ kind: "text", x: tick.at, y: box.bottom + 13, text: tick.text, ink: "muted", anchor: "middle" });
  }
  marks.push({ kind: "path", points: [box.left, box.bottom, box.right, box.bottom], ink: "muted" });
  marks.push({ kind: "text", x: (box.left + box.right) / 2, y: box.bottom + 30, text: titles.x, ink: "ink", anchor: "middle", most: box.right - box.left });
  if (titles.y) marks.push({ kind: "text", x: box.left + 2, y: box.top - 11, text: titles.y, ink: "ink", most: box.right - box.left });
  return marks;
}

/** Keeps a pixel inside: what lies beyond stands at the edge. */
export function clamp(pixel: number, a: number, b: number): number {
  return Math.min(Math.max(a, b), Math.max(Math.min(a, b), pixel));
}
