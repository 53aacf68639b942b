// Who went on as a copy of whom: trials as lanes over iterations, clonings as lines between them.
import type { Cell, Experiment, Stretch } from "../data";
import { isNumber, iterationText, numberOf, textOf } from "../data";
import { count, short } from "../format";
import { axes, inside, linear, rangeOf, scaleOf, whole } from "./axes";
import type { Drawing, Ink, Mark, Size } from "./drawing";

/** The value of a hyperparameter, nested with dots. */
export function valueIn(config: { [name: string]: Cell }, name: string): Cell {
  let at: Cell = config;
  for (const part of name.split(".")) {
    if (at === null || typeof at !== "object" || Array.isArray(at) || !Object.hasOwn(at, part)) {
      return Object.hasOwn(config, name) ? config[name]! : null;
    }
    at = at[part]!;
  }
  return at;
}

/** The hyperparameters that a line of descent changed. */
export function changing(configs: { [name: string]: Cell }[], names: string[]): string[] {
  return names.filter((name) => new Set(configs.map((config) => textOf(valueIn(config, name)))).size > 1);
}

export function laneHeight(trials: number): number { return Math.max(5, Math.min(18, 420 / Math.max(1, trials))); }

/** The stretches that a trial's model went through, the newest first. */
export function ancestry(stretches: Stretch[], at: number): number[] {
  const chain: number[] = [];
  for (let i: number | null = at; i !== null && !chain.includes(i); i = stretches[i]!.origin) chain.push(i);
  return chain;
}

export function lineage(experiment: Experiment, size: Size, colourBy: string): Drawing {
  const stretches = experiment.raw.lineage?.stretches ?? [];
  if (stretches.length === 0) return { marks: [], sentence: "No trial has gone on as a copy of another one." };
  const trials = [...new Set(stretches.map((each) => each.trial_id))].sort();
  const lanes = new Map(trials.map((id, i) => [id, i]));
  const box = inside(size, { left: 84, top: 4 });
  const x = whole(0, Math.max(...stretches.map((each) => each.to)), box.left, box.right, size.width / 90);
  const lane = (box.bottom - box.top) / trials.length;
  const y = (id: string) => box.top + (lanes.get(id)! + 0.5) * lane;
  const each = Math.ceil(13 / lane);
  const marks: Mark[] = axes(box, x, { at: (v) => v, value: (v) => v, ticks: trials.flatMap((text, i) => i % each === 0 ? [{ text, at: box.top + (i + 0.5) * lane }] : []) }, { x: "iteration of the model", y: "" });
  const values = stretches.map((one) => valueIn(one.config, colourBy));
  const numbers = values.map(numberOf);
  const range = rangeOf(numbers);
  const words = [...new Set(values.map(textOf))].sort();
  const inkOf = (i: number): Ink => {
    if (range === null) return words.length > 1 ? words.indexOf(textOf(values[i])) / (words.length - 1) : 0.5;
    if (!(range.high > range.low)) return 0.5;
    return range.isLog ? Math.log(numbers[i]! / range.low) / Math.log(range.high / range.low) : (numbers[i]! - range.low) / (range.high - range.low);
  };
  const steps = experiment.raw.lineage?.schedule?.steps ?? [];
  const isOfBest = (one: Stretch) => steps.some((step) => step.trial_id === one.trial_id && step.from === one.from && step.to <= one.to);
  stretches.forEach((one, i) => {
    if (one.origin !== null) {
      const from = stretches[one.origin]!;
      const best = isOfBest(one);
      if (from.trial_id !== one.trial_id) {
        marks.push({ kind: "path", points: [x.at(one.from), y(from.trial_id), x.at(one.from), y(one.trial_id)], ink: best ? "accent" : "muted", width: best ? 3 : 1, alpha: best ? 1 : 0.7 });
      }
    }
    const trial = experiment.trialOf(one.trial_id);
    marks.push({
      kind: "rect", x: x.at(one.from), y: y(one.trial_id) - lane * 0.36, w: Math.max(2, x.at(one.to) - x.at(one.from)), h: Math.max(2, lane * 0.72), ink: inkOf(i), alpha: one.is_present ? 1 : 0.55,
      of: { trial, said: () => `${one.trial_id}, iterations ${iterationText(one.from + 1, one.from_is_guess)} to ${iterationText(one.to, one.to_is_guess)}${one.origin === null ? "" : `, a copy of ${stretches[one.origin]!.trial_id}`}: ${colourBy} ${isNumber(values[i]) ? short(numbers[i]!) : textOf(values[i])}` },
    });
  });
  const clonings = experiment.raw.lineage?.clonings.length ?? 0;
  return { marks, sentence: `${count(clonings, "cloning")} among ${count(trials.length, "trial")}; the stronger the colour, the larger ${colourBy}. The way to the best model is drawn in bold lines.` };
}

/** One hyperparameter along the best model's life. */
export function schedule(experiment: Experiment, size: Size, name: string): Drawing {
  const steps = experiment.raw.lineage?.schedule?.steps ?? [];
  const values = steps.map((step) => numberOf(valueIn(step.config, name)));
  const range = rangeOf(values);
  const words = [...new Set(steps.map((step) => textOf(valueIn(step.config, name))))];
  const box = inside(size, { left: 62 });
  const x = whole(0, Math.max(1, ...steps.map((step) => step.to)), box.left, box.right, size.width / 90);
  const y = range ? scaleOf(range, box.bottom - 4, box.top, 4) : linear(0, words.length, box.bottom - 4, box.top + 8, words.length);
  const marks: Mark[] = axes(box, x, y, { x: "iteration of the model", y: name });
  const points: number[] = [];
  steps.forEach((step, i) => {
    const at = y.at(range ? values[i]! : words.indexOf(textOf(valueIn(step.config, name))));
    points.push(x.at(step.from), at, x.at(step.to), at);
    marks.push({ kind: "path", points: [x.at(step.from), at, x.at(step.to), at], ink: "accent", width: 3, of: { trial: experiment.trialOf(step.trial_id), said: () => `iterations ${iterationText(step.from + 1, step.from_is_guess)} to ${iterationText(step.to, step.to_is_guess)} as ${step.trial_id}: ${name} = ${textOf(valueIn(step.config, name))}` } });
  });
  marks.push({ kind: "path", points, ink: "accent", alpha: 0.5 });
  return { marks, sentence: `${name}: ${steps.map((step) => `${textOf(valueIn(step.config, name))} up to ${iterationText(step.to, step.to_is_guess)}`).join(", ")}.` };
}
