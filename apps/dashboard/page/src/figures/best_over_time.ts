// Trials as dots over time, and the best value so far as a line.
import type { Experiment } from "../data";
import { iterationText, numberOf } from "../data";
import { count, duration, short } from "../format";
import { axes, clamp, elapsed, inside, rangeOf, scaleOf } from "./axes";
import type { Drawing, Ink, Mark, Size } from "./drawing";

export const endInks: { [end: string]: Ink } = {
  completed: "good", pruned: "muted", stopped: "warn", failed: "bad", RUNNING: "accent", PAUSED: "warn", PENDING: "grid",
};

export function bestOverTime(experiment: Experiment, size: Size, kept: Uint8Array): Drawing {
  const objective = experiment.objective;
  const improvements = experiment.raw.over_time?.improvements ?? [];
  const values = experiment.column("best")?.numbers ?? new Float64Array();
  const start = experiment.raw.status.started;
  const times = Float64Array.from(values, (_, i) => {
    const ended = experiment.number(i, "ended");
    return (Number.isFinite(ended) ? ended : experiment.number(i, "started") + experiment.number(i, "duration_s")) - start;
  });
  const range = rangeOf([...values, ...improvements.map((each) => numberOf(each.value))]);
  if (!objective || !range) return { marks: [], sentence: "No trial has a number for the metric yet." };
  const box = inside(size);
  const last = improvements.reduce((a, each) => Math.max(a, each.time - start), times.reduce((a, each) => each > a ? each : a, 0));
  const x = elapsed(last, box.left, box.right, size.width / 110);
  const y = scaleOf(range, box.bottom, box.top);
  const marks: Mark[] = axes(box, x, y, { x: "time since the start", y: `${objective.metric} (${objective.mode === "min" ? "smaller" : "larger"} is better)` });
  const dotAlpha = Math.max(0.1, Math.min(0.75, 6000 / values.length));
  for (let i = 0; i < values.length; ++i) {
    const [px, py] = [x.at(times[i]!), y.at(values[i]!)];
    if (Number.isNaN(px) || Number.isNaN(py)) continue;
    const end = experiment.endOf(i);
    marks.push({
      kind: "dot", x: px, y: clamp(py, box.top, box.bottom), r: values.length > 2000 ? 1.5 : 2.5, ink: endInks[end] ?? "muted",
      alpha: kept[i] ? dotAlpha : 0.08, hollow: end === "failed",
      of: { trial: i, said: () => `${experiment.id(i)}: best ${short(values[i]!)}, ${end}, ${duration(times[i]!)} after the start` },
    });
  }
  const line: number[] = [];
  for (const each of improvements) {
    const [px, py] = [x.at(each.time - start), clamp(y.at(numberOf(each.value)), box.top, box.bottom)];
    if (line.length > 0) line.push(px, line[line.length - 1]!);
    line.push(px, py);
    marks.push({
      kind: "dot", x: px, y: py, r: 4, ink: "accent",
      of: { trial: experiment.trialOf(each.trial_id), said: () => `best so far ${short(numberOf(each.value))}: ${each.trial_id}, iteration ${iterationText(each.training_iteration, each.iteration_is_guess)}, after ${count(each.trials, "trial")} and ${duration(each.running_s)} of running` },
    });
  }
  if (line.length > 0) {
    line.push(box.right, line[line.length - 1]!);
    marks.push({ kind: "path", points: line, ink: "accent", width: 2 });
  }
  const best = improvements[improvements.length - 1];
  const sentence = (best
    ? `The best ${objective.metric} came down to ${short(numberOf(best.value))} in ${count(improvements.length + (experiment.raw.over_time_left_out), "step")}, the last one after ${duration(best.running_s)} with ${count(best.trials, "trial")} started.`.replace("came down", objective.mode === "min" ? "came down" : "went up")
    : experiment.raw.over_time_problem) + (range.beyond > 0 ? ` ${count(range.beyond, "value")} lie beyond the picture and stand at its edge.` : "");
  return { marks, sentence };
}
