// Rungs of early stopping: a column of dots each, and the cutoff as a line.
import type { Experiment } from "../data";
import { numberOf } from "../data";
import { count, short } from "../format";
import { axes, category, clamp, inside, rangeOf, scaleOf } from "./axes";
import type { Drawing, Mark, Size } from "./drawing";

export function rungs(experiment: Experiment, size: Size, kept: Uint8Array): Drawing {
  const judged = experiment.raw.judgements;
  const scores = judged.score.map(numberOf);
  const range = rangeOf(scores);
  const report = experiment.raw.status.rungs;
  if (!range) return { marks: [], sentence: "No trial has been judged yet." };
  const milestones = [...new Set([...judged.rung, ...(report?.rungs ?? []).map((rung) => rung.milestone)])].sort((a, b) => a - b);
  const box = inside(size);
  const x = category(milestones.map(String), box.left, box.right);
  const y = scaleOf(range, box.bottom, box.top);
  const metric = report?.metric ?? experiment.objective?.metric ?? "";
  const marks: Mark[] = axes(box, x, y, { x: `judged at ${report?.time_attr ?? "iteration"}`, y: metric });
  const step = (box.right - box.left) / milestones.length;
  const places = new Map(milestones.map((each, i) => [each, i]));
  judged.trial.forEach((trial, i) => {
    const at = x.at(places.get(judged.rung[i]!) ?? NaN) + (((trial * 0.618) % 1) - 0.5) * 0.6 * step;
    const py = y.at(scores[i]!);
    if (!Number.isFinite(py)) return;
    marks.push({
      kind: "dot", x: at, y: clamp(py, box.top, box.bottom), r: judged.trial.length > 1500 ? 1.6 : 3, ink: judged.went_on[i] ? "good" : "muted", alpha: kept[trial] ? 0.8 : 0.07,
      of: { trial, said: () => `${experiment.id(trial)} at ${judged.rung[i]}: ${short(scores[i]!)}, cutoff then ${judged.cutoff[i] === null ? "none" : short(numberOf(judged.cutoff[i]))}, ${judged.went_on[i] ? "went on" : "went no further, or waits"}` },
    });
  });
  for (const rung of report?.rungs ?? []) {
    const py = y.at(numberOf(rung.cutoff));
    if (!Number.isFinite(py)) continue;
    const at = x.at(places.get(rung.milestone)!);
    marks.push({ kind: "path", points: [at - 0.4 * step, clamp(py, box.top, box.bottom), at + 0.4 * step, clamp(py, box.top, box.bottom)], ink: "bad", width: 2, of: { said: () => `cutoff at ${rung.milestone} now: ${short(numberOf(rung.cutoff))}` } });
  }
  const shown = judged.trial.length < judged.count ? `, of which the first ${judged.trial.length.toLocaleString("en-US")} are shown` : "";
  return { marks, sentence: `${count(judged.count, "judgement")} at ${count(milestones.length, "rung")}${shown}: dots of those that went on are green, red lines are the cutoffs now.` };
}
