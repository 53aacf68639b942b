// Parallel coordinates: a line for each trial through its hyperparameters to its value of the
// metric. Ranges on the axes choose trials.
import type { Column, Domain } from "../data";
import { textOf } from "../data";
import { count, short } from "../format";
import { category, linear, logarithmic, rangeOf, scaleOf, type Scale } from "./axes";
import type { Drawing, Ink, Mark, Size } from "./drawing";

export interface Axis {
  name: string;
  /** By trial the value on the scale; NaN where it has none. */
  values: Float64Array;
  words: string[] | null;
  domain: Domain | null;
}
/** By the axis' name, from and to; of words their places. */
export type Brush = Map<string, [number, number]>;

/** Without "config.", which each of them would have. */
export function shortName(name: string): string { return name.replace(/^config\./, ""); }

export function axisOf(column: Column, domain: Domain | null): Axis {
  const isWords = domain?.values != null || !column.isNumeric;
  if (!isWords) return { name: column.name, values: column.numbers, words: null, domain };
  const texts = column.values.map((value) => value === null ? null : textOf(value));
  const words = domain?.values != null ? domain.values.map(textOf) : [...new Set(texts.filter((each) => each !== null))].sort();
  const places = new Map(words.map((word, i) => [word, i]));
  return { name: column.name, words, domain, values: Float64Array.from(texts, (text) => text === null ? NaN : places.get(text) ?? NaN) };
}

/** Which trials are in all ranges: 1 and 0. Where there is a range, those without a value are out. */
export function keptBy(axes: Axis[], brush: Brush, trials: number): Uint8Array {
  const kept = new Uint8Array(trials).fill(1);
  for (const axis of axes) {
    const range = brush.get(axis.name);
    if (!range) continue;
    for (let i = 0; i < trials; ++i) {
      if (!(axis.values[i]! >= range[0] && axis.values[i]! <= range[1])) kept[i] = 0;
    }
  }
  return kept;
}

/** From 0 for the worst to 1 for the best, by rank; NaN without a number. */
export function goodness(values: Float64Array, mode: "min" | "max"): Float64Array {
  const order = [...values.keys()].filter((i) => Number.isFinite(values[i]!)).sort((a, b) => values[a]! - values[b]!);
  const places = new Float64Array(values.length).fill(NaN);
  order.forEach((trial, i) => { places[trial] = order.length > 1 ? i / (order.length - 1) : 1; });
  return mode === "min" ? places.map((each) => 1 - each) : places;
}

export const top = 34;
export function axisPlaces(axes: Axis[], size: Size): number[] {
  const margin = Math.min(60, size.width / (2 * axes.length + 1));
  return axes.map((_, i) => axes.length === 1 ? size.width / 2 : margin + (i / (axes.length - 1)) * (size.width - 2 * margin));
}

export function scaleOfAxis(axis: Axis, size: Size): Scale {
  const [from, to] = [size.height - 14, top];
  if (axis.words) return category(axis.words, from, to);
  const domain = axis.domain;
  if (domain && domain.lower !== null && domain.upper !== null) {
    return domain.log ? logarithmic(domain.lower, domain.upper, from, to) : linear(domain.lower, domain.upper, from, to);
  }
  const range = rangeOf(axis.values);
  return range ? scaleOf(range, from, to) : linear(0, 1, from, to);
}

const colours = 12;
/** As many lines are one path: one for all would be slow, one each slower. */
const linesOfPath = 200;

export function parallel(axes: Axis[], good: Float64Array, kept: Uint8Array, chosen: ReadonlySet<number>, brush: Brush, size: Size): Drawing {
  const places = axisPlaces(axes, size);
  const scales = axes.map((axis) => scaleOfAxis(axis, size));
  const marks: Mark[] = [];
  const trials = kept.length;
  const faint: number[] = [];
  const byColour: number[][] = Array.from({ length: colours }, () => []);
  const lineOf = (trial: number, into: number[]) => {
    for (let a = 0; a < axes.length; ++a) {
      const at = scales[a]!.at(axes[a]!.values[trial]!);
      into.push(places[a]!, Number.isFinite(at) ? Math.min(size.height - 14, Math.max(top, at)) : NaN);
    }
    into.push(NaN, NaN);
  };
  let inside = 0;
  for (let trial = 0; trial < trials; ++trial) {
    inside += kept[trial]!;
    const t = good[trial]!;
    lineOf(trial, kept[trial] ? byColour[Number.isNaN(t) ? 0 : Math.min(colours - 1, Math.floor(t * colours))]! : faint);
  }
  const width = 2 * (axes.length + 1);
  const add = (points: number[], ink: Ink, alpha: number) => {
    for (let at = 0; at < points.length; at += linesOfPath * width) {
      marks.push({ kind: "path", points: points.slice(at, at + linesOfPath * width), ink, alpha, width: 1 });
    }
  };
  add(faint, "grid", 0.35);
  const alpha = Math.max(0.03, Math.min(0.9, 240 / Math.max(1, inside)));
  byColour.forEach((points, i) => add(points, i / (colours - 1), Math.min(1, alpha * (0.5 + i / colours))));
  for (const trial of chosen) {
    const points: number[] = [];
    lineOf(trial, points);
    marks.push({ kind: "path", points, ink: "bad", width: 2.5 });
  }
  axes.forEach((axis, a) => {
    const x = places[a]!;
    marks.push({ kind: "path", points: [x, top, x, size.height - 14], ink: "ink" });
    const room = size.width / axes.length - 8;
    marks.push({ kind: "text", x: Math.min(size.width - room / 2, Math.max(room / 2, x)), y: a % 2 === 1 && room < 90 ? 22 : 8, text: shortName(axis.name), ink: "ink", anchor: "middle", most: room < 90 ? 2 * room : room, bold: true });
    const isLast = a === axes.length - 1;
    const ticks = scales[a]!.ticks;
    const each = Math.ceil(ticks.length / 12);
    ticks.forEach((tick, i) => {
      if (i % each !== 0) return;
      marks.push({ kind: "path", points: [x - 3, tick.at, x + 3, tick.at], ink: "ink" });
      marks.push({ kind: "text", x: isLast ? x - 6 : x + 6, y: tick.at, text: tick.text, ink: "ink", anchor: isLast ? "end" : "start", most: Math.max(24, room - 6) });
    });
    const range = brush.get(axis.name);
    if (range) {
      const [from, to] = axis.words ? [range[0] - 0.4, range[1] + 0.4] : range;
      // A logarithm has no place for what is open below.
      const ends = [scales[a]!.at(from), scales[a]!.at(to)].map((each) => Math.min(size.height - 14, Math.max(top, Number.isNaN(each) ? Infinity : each)));
      marks.push({ kind: "rect", x: x - 7, y: Math.min(...ends), w: 14, h: Math.max(3, Math.abs(ends[0]! - ends[1]!)), ink: "accent", alpha: 0.45 });
    }
  });
  return { marks, sentence: `${count(trials, "trial")} along ${count(axes.length, "axis", "axes")}; ${inside === trials ? "all" : inside.toLocaleString("en-US")} are inside the chosen ranges. The better, the stronger the colour.` };
}

/** The range of a drag along an axis, from one pixel to another; of words those between. */
export function rangeOfDrag(axis: Axis, size: Size, from: number, to: number): [number, number] {
  const scale = scaleOfAxis(axis, size);
  const ends = [scale.value(from), scale.value(to)].sort((a, b) => a - b) as [number, number];
  if (!axis.words) return ends;
  const most = axis.words.length - 1;
  return [Math.min(most, Math.max(0, Math.round(ends[0]))), Math.min(most, Math.max(0, Math.round(ends[1])))];
}

export function rangeText(axis: Axis, range: [number, number]): string {
  if (!axis.words) return `${short(range[0])} to ${short(range[1])}`;
  return axis.words.slice(range[0], range[1] + 1).join(", ");
}
