// Who ran where and when: a lane for each GPU, or for each trial that ran at one time; and why a
// GPU was free.
import type { Attempt, Experiment } from "../data";
import { count, duration } from "../format";
import { axes, elapsed, inside } from "./axes";
import { endInks } from "./best_over_time";
import type { Drawing, Ink, Mark, Size } from "./drawing";

const inks: { [outcome: string]: Ink } = { paused: "warn", exploiting: "accent", failed: "bad", interrupted: "muted", "": "accent" };

export interface Lane { name: string; node: string; gpu: string }
export interface Lanes { lanes: Lane[]; /** by attempt its lanes: one, or one for each GPU */ of: number[][] }

/** Attempts without a GPU take the first lane of their node that is free. */
export function lanesOf(attempts: Attempt[], end: number): Lanes {
  const lanes: Lane[] = [];
  const places = new Map<string, number>();
  const free = new Map<string, number[]>();
  const nodes = new Set(attempts.map((each) => each.node)).size;
  const laneAt = (node: string, gpu: string, name: string): number => {
    const key = JSON.stringify([node, gpu]);
    let place = places.get(key);
    if (place === undefined) { place = lanes.length; places.set(key, place); lanes.push({ name: nodes > 1 ? `${node} ${name}` : name, node, gpu }); }
    return place;
  };
  const of = attempts.map((attempt) => {
    if (attempt.gpus) return attempt.gpus.split(",").map((gpu) => laneAt(attempt.node, gpu, `GPU ${gpu}`));
    const ends = free.get(attempt.node) ?? [];
    free.set(attempt.node, ends);
    let slot = ends.findIndex((each) => each <= attempt.start);
    if (slot < 0) slot = ends.length;
    ends[slot] = attempt.end ?? end;
    return [laneAt(attempt.node, `\u0000${slot}`, `place ${slot + 1}`)];
  });
  return { lanes, of };
}

export function timelineHeight(lanes: number): number { return 60 + Math.min(640, lanes * (lanes > 40 ? 9 : 20)); }

export function timeline(experiment: Experiment, size: Size, kept: Uint8Array): Drawing {
  const attempts = experiment.attempts;
  if (attempts.length === 0) return { marks: [], sentence: "Nothing has been launched yet." };
  const start = Math.min(experiment.raw.status.started, ...attempts.slice(0, 1).map((each) => each.start));
  let end = start;
  for (const each of attempts) end = Math.max(end, each.end ?? each.start);
  for (const each of experiment.raw.idle) end = Math.max(end, each.to);
  const { lanes, of } = lanesOf(attempts, end);
  const box = inside(size, { left: 84, top: 4 });
  const x = elapsed(end - start, box.left, box.right, size.width / 110);
  const lane = (box.bottom - box.top) / lanes.length;
  const each = Math.ceil(13 / lane);
  const yOf = (i: number) => box.top + (i + 0.5) * lane;
  const marks: Mark[] = axes(box, x, { at: (v) => v, value: (v) => v, ticks: lanes.flatMap((one, i) => i % each === 0 ? [{ text: one.name, at: yOf(i) }] : []) }, { x: "time since the start", y: "" });
  const places = new Map(lanes.map((one, i) => [JSON.stringify([one.node, one.gpu]), i]));
  for (const idle of experiment.raw.idle) {
    const place = places.get(JSON.stringify([idle.node, idle.gpu]));
    if (place === undefined) continue;
    marks.push({
      kind: "rect", x: x.at(idle.from - start), y: yOf(place) - lane * 0.15, w: Math.max(1, x.at(idle.to - start) - x.at(idle.from - start)), h: lane * 0.3, ink: "warn", alpha: 0.5,
      of: { said: () => `GPU ${idle.gpu} was free for ${duration(idle.to - idle.from)}: ${idle.why}` },
    });
  }
  attempts.forEach((attempt, i) => {
    for (const place of of[i]!) {
      const [a, b] = [x.at(attempt.start - start), x.at((attempt.end ?? end) - start)];
      marks.push({
        kind: "rect", x: a, y: yOf(place) - lane * 0.4, w: Math.max(0.7, b - a - 0.5), h: Math.max(1, lane * 0.8), ink: attempt.outcome === "completed" ? endInks[experiment.endOf(attempt.trial)] ?? "good" : inks[attempt.outcome] ?? "line", alpha: kept[attempt.trial] ? 0.9 : 0.1,
        of: { trial: attempt.trial, said: () => `${experiment.id(attempt.trial)}, attempt ${attempt.attempt}, ${duration(attempt.start - start)} to ${attempt.end === null ? "now or unknown" : duration(attempt.end - start)}: ${attempt.outcome || "runs"}${attempt.reason ? ", " + attempt.reason : ""}` },
      });
    }
  });
  const total = experiment.raw.attempts.count;
  return { marks, sentence: `${count(total, "launch", "launches")}${total > attempts.length ? `, the first ${attempts.length.toLocaleString("en-US")} shown,` : ""} on ${count(lanes.length, "lane")}${attempts.some((each) => each.gpus) ? `; ${count(experiment.raw.idle.length, "time")} a GPU was free for more than a second` : ""}.` };
}
