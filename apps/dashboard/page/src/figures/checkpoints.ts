// The checkpoints that are kept, by trial and iteration: pinned ones, the latest, where they are.
import type { Experiment } from "../data";
import { bytes, short } from "../format";
import { iterationText, numberOf } from "../data";
import { axes, inside, whole } from "./axes";
import type { Drawing, Mark, Size } from "./drawing";

export function checkpoints(experiment: Experiment, size: Size, shown: Uint8Array): Drawing {
  const kept = experiment.raw.checkpoints.kept;
  const made = experiment.raw.checkpoints.trials;
  const sum = (list: number[]) => list.reduce((a, b) => a + b, 0);
  const status = experiment.raw.status.checkpoints;
  const pinned = kept ? kept.is_pinned.filter(Boolean).length : 0;
  const sentence = `${status.committed.toLocaleString("en-US")} made (${bytes(status.bytes)}), ${status.kept.toLocaleString("en-US")} kept, ${pinned} of them pinned for clones, ${sum(made.dropped).toLocaleString("en-US")} dropped, ${status.failed} failed, ${sum(made.damaged)} damaged.`;
  if (!kept || kept.trial.length === 0) return { marks: [], sentence };
  const trials = [...new Set(kept.trial)].sort((a, b) => a - b);
  const lanes = new Map(trials.map((each, i) => [each, i]));
  const box = inside(size, { left: 84, top: 4 });
  const x = whole(0, Math.max(1, ...kept.training_iteration), box.left, box.right, size.width / 90);
  const lane = (box.bottom - box.top) / trials.length;
  const each = Math.ceil(13 / lane);
  const yOf = (trial: number) => box.top + (lanes.get(trial)! + 0.5) * lane;
  const marks: Mark[] = axes(box, x, { at: (v) => v, value: (v) => v, ticks: trials.flatMap((trial, i) => i % each === 0 ? [{ text: experiment.id(trial), at: yOf(trial) }] : []) }, { x: "training_iteration", y: "" });
  kept.trial.forEach((trial, i) => {
    const score = numberOf(kept.score[i]);
    marks.push({
      kind: "dot", x: x.at(kept.training_iteration[i]!), y: yOf(trial), r: Math.max(2, Math.min(5, lane * 0.4)), ink: kept.where[i] === "missing" ? "bad" : kept.is_pinned[i] ? "warn" : kept.rank[i] === 1 ? "good" : "line",
      hollow: kept.where[i] === "remote", alpha: shown[trial] ? 1 : 0.1,
      of: { trial, said: () => `${experiment.id(trial)} checkpoint ${kept.index[i]}, iteration ${iterationText(kept.training_iteration[i]!, kept.is_guess[i])}, ${bytes(kept.bytes[i]!)}, ${kept.where[i]}${kept.is_latest[i] ? ", the latest" : ""}${kept.is_pinned[i] ? ", pinned" : ""}${Number.isFinite(score) ? `, score ${short(score)}` : ""}, because of ${kept.triggers[i]}` },
    });
  });
  return { marks, sentence };
}
