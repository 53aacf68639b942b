// The metric over iterations: a line for each trial, with how it ended at its end.
import type { Curve, Experiment } from "../data";
import { numberOf } from "../data";
import { count, short } from "../format";
import { axes, clamp, inside, logarithmic, rangeOf, scaleOf, whole } from "./axes";
import { endInks } from "./best_over_time";
import type { Drawing, Mark, Size } from "./drawing";

export interface Cutoff { iteration: number; value: number }

function said(experiment: Experiment, trial: number): string {
  const why = experiment.text(trial, "why");
  const by = experiment.text(trial, "ended_by");
  return `${experiment.id(trial)}: ${experiment.endOf(trial)}${by ? " by " + by : ""} at iteration ${experiment.iteration(trial)}${why ? ", " + why : ""}${experiment.text(trial, "error") ? ", " + experiment.text(trial, "error") : ""}`;
}

/** `shown`: the curve in front of the others, if one is. */
export function curves(experiment: Experiment, size: Size, kept: Uint8Array, cutoffs: Cutoff[], shown: number | null = null): Drawing {
  const all = experiment.raw.curves;
  const values = (all?.trials ?? []).flatMap((curve) => curve.last.map(numberOf));
  const range = rangeOf(values);
  if (!all || !range) return { marks: [], sentence: experiment.raw.curves_problem || "No trial has a number for the metric yet." };
  const box = inside(size);
  const longest = all.trials.reduce((a, curve) => Math.max(a, curve.iterations[curve.iterations.length - 1] ?? 1), 1);
  const isLog = longest >= 30 && cutoffs.length > 2;
  const x = isLog ? logarithmic(1, longest, box.left, box.right, size.width / 90) : whole(Math.min(1, longest - 1), longest, box.left, box.right, size.width / 90);
  const y = scaleOf(range, box.bottom, box.top);
  const yAt = (value: number) => clamp(y.at(value), box.top, box.bottom);
  const marks: Mark[] = axes(box, x, y, { x: "training_iteration", y: all.metric });
  const alpha = Math.max(0.04, Math.min(0.8, 60 / Math.max(1, all.trials.length)));
  const line = (curve: Curve, isFront: boolean) => {
    const points = curve.iterations.flatMap((iteration, i) => [x.at(iteration), yAt(numberOf(curve.last[i]))]);
    const isIn = kept[curve.trial] === 1;
    const end = experiment.endOf(curve.trial);
    const of = { trial: curve.trial, said: () => said(experiment, curve.trial) };
    if (isFront && curve.min && curve.max) {
      // What the sampled line leaves out: from the least to the most in each stretch.
      curve.iterations.forEach((iteration, i) => {
        const [a, b] = [yAt(numberOf(curve.min![i])), yAt(numberOf(curve.max![i]))];
        marks.push({ kind: "path", points: [x.at(iteration), a, x.at(iteration), b], ink: "accent", alpha: 0.3, width: 2 });
      });
    }
    const own = curve.iterations.findIndex((iteration) => iteration > curve.since);
    const path = (part: number[], dash?: number[]) => {
      if (part.length > 0) marks.push({ kind: "path", points: part, ink: isFront ? "accent" : endInks[end] ?? "line", alpha: isFront ? 1 : isIn ? alpha : 0.04, width: isFront ? 2.5 : 1, ...(dash ? { dash } : {}), ...(isIn || isFront ? { of } : {}) });
    };
    // What its model was as other trials leads up to its first own point.
    if (curve.since > 0) path(own < 0 ? points : points.slice(0, 2 * own + 2), [4, 3]);
    if (own >= 0) path(points.slice(2 * own));
    const n = points.length;
    if (n >= 2 && (isIn || isFront)) {
      marks.push({ kind: "dot", x: points[n - 2]!, y: points[n - 1]!, r: isFront ? 4 : 2.5, ink: endInks[end] ?? "line", hollow: end === "failed", alpha: isFront ? 1 : 0.8, of });
    }
  };
  // Those that came far lie above the many that did not.
  const inOrder = [...all.trials].sort((a, b) => a.results - b.results);
  for (const curve of inOrder) if (curve.trial !== shown) line(curve, false);
  for (const cutoff of cutoffs) {
    const [px, py] = [x.at(cutoff.iteration), y.at(cutoff.value)];
    if (!Number.isFinite(px) || !Number.isFinite(py) || py < box.top || py > box.bottom) continue;
    marks.push({ kind: "path", points: [px - 9, py, px + 9, py], ink: "bad", width: 2, of: { said: () => `cutoff ${short(cutoff.value)} at ${cutoff.iteration}` } });
  }
  const front = all.trials.find((curve) => curve.trial === shown);
  if (front && front.since > 0) {
    const at = x.at(front.since);
    marks.push({ kind: "path", points: [at, box.top, at, box.bottom], ink: "warn", dash: [4, 3], of: { said: () => `before iteration ${front.since}, its model was another trial's` } });
  }
  if (front) line(front, true);
  const ends = new Map<string, number>();
  for (const curve of all.trials) ends.set(experiment.endOf(curve.trial), (ends.get(experiment.endOf(curve.trial)) ?? 0) + 1);
  const words = [...ends].map(([end, n]) => `${n.toLocaleString("en-US")} ${end}`).join(", ");
  return { marks, sentence: `Curves of ${all.which}: ${words}.${range.beyond > 0 ? ` ${count(range.beyond, "value")} lie beyond the picture and stand at its edge.` : ""}` };
}
