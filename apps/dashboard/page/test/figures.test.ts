import assert from "node:assert/strict";
import { test } from "node:test";
import type { Experiment } from "../src/data";
import { bestOverTime } from "../src/figures/best_over_time";
import { checkpoints } from "../src/figures/checkpoints";
import { curves } from "../src/figures/curves";
import { markAt, placeOf, type Drawing } from "../src/figures/drawing";
import { importance } from "../src/figures/importance";
import { ancestry, changing, lineage, schedule } from "../src/figures/lineage";
import { axisOf, goodness, keptBy, parallel, rangeOfDrag } from "../src/figures/parallel";
import { region } from "../src/figures/region";
import { rungs } from "../src/figures/rungs";
import { slice } from "../src/figures/slices";
import { lanesOf, timeline } from "../src/figures/timeline";
import { linear, logarithmic, rangeOf } from "../src/figures/axes";
import { experimentOf } from "./sample";

const size = { width: 400, height: 300 };

function axesOf(experiment: Experiment) {
  return [...experiment.hyperparameters.map(({ column, domain }) => axisOf(column, domain)), axisOf(experiment.column("best")!, null)];
}
function allOf(experiment: Experiment): { [name: string]: Drawing } {
  const kept = new Uint8Array(experiment.count).fill(1);
  const good = goodness(experiment.column("best")!.numbers, "min");
  const name = experiment.raw.domains[0]!.name;
  return {
    bestOverTime: bestOverTime(experiment, size, kept), curves: curves(experiment, size, kept, [{ iteration: 1, value: 0.2 }], 1), importance: importance(experiment, size),
    rungs: rungs(experiment, size, kept), lineage: lineage(experiment, size, "lr"), schedule: schedule(experiment, size, "lr"), timeline: timeline(experiment, size, kept),
    checkpoints: checkpoints(experiment, size, kept), slice: slice(experiment, name, good, kept, size, experiment.raw.slices[0]), region: region(experiment, size, ["lr"]),
    parallel: parallel(axesOf(experiment), good, kept, new Set([1]), new Map([[name, [0.001, 0.1]]]), size),
  };
}

test("each picture has marks inside its bounds, and a sentence", () => {
  for (const [name, drawing] of Object.entries(allOf(experimentOf()))) {
    assert.ok(drawing.marks.length > 0, name);
    assert.match(drawing.sentence, /\w/, name);
    for (const mark of drawing.marks) {
      const place = placeOf(mark);
      if (!place || Number.isNaN(place[0])) continue;
      assert.ok(place[0] >= -1 && place[0] <= size.width + 1 && place[1] >= -1 && place[1] <= size.height + 1, `${name}: ${place}`);
      if (mark.of) assert.match(mark.of.said(), /\w/, name);
    }
  }
});

test("an iteration that may be a later one says so in each picture that names it", () => {
  const experiment = experimentOf();
  const { curves: lines, bestOverTime: bests, checkpoints: saves } = allOf(experiment);
  const said = (drawing: Drawing) => drawing.marks.flatMap((mark) => mark.of ? [mark.of.said()] : []).join("\n");
  assert.match(said(lines!), /trial_00001: completed at iteration 2 or later/);
  assert.match(said(lines!), /trial_00002: completed at iteration 2(\n|$)/);
  assert.match(said(bests!), /trial_00001, iteration 1 or later, after/);
  assert.match(said(bests!), /trial_00000, iteration 1, after/);
  assert.match(said(saves!), /iteration 2 or later, /);
});

test("no number anywhere gives sentences, and no picture fails", () => {
  for (const values of [[null, null, null, null], ["NaN", "NaN", "Infinity", "-Infinity"], [1e308, -1e308, 5e-324, 0], [1, 1, 1, 1]]) {
    for (const [name, drawing] of Object.entries(allOf(experimentOf({ values })))) assert.match(drawing.sentence, /\w/, name);
  }
});

test("ranges keep the trials inside of all of them, and none without a value", () => {
  const experiment = experimentOf({ lr: [0.1, 0.01, null, 0.0001] });
  const axes = axesOf(experiment);
  assert.deepEqual([...keptBy(axes, new Map(), 4)], [1, 1, 1, 1]);
  assert.deepEqual([...keptBy(axes, new Map([["config.lr", [0.001, 1]]]), 4)], [1, 1, 0, 0]);
  assert.deepEqual([...keptBy(axes, new Map([["config.lr", [0.001, 1]], ["best", [0, 0.2]]]), 4)], [0, 1, 0, 0]);
});

test("a drag along an axis is a range of its values", () => {
  const [lr] = axesOf(experimentOf());
  const [low, high] = rangeOfDrag(lr!, size, size.height - 14, 34);
  assert.ok(Math.abs(low - 1e-4) < 1e-9 && Math.abs(high - 1) < 1e-9);
});

test("the best trial is drawn strongest, whichever way is better", () => {
  assert.deepEqual([...goodness(Float64Array.of(3, 1, NaN, 2), "min")], [0, 1, NaN, 0.5]);
  assert.deepEqual([...goodness(Float64Array.of(3, 1, NaN, 2), "max")], [1, 0, NaN, 0.5]);
});

test("a value far beyond all others does not squeeze them, and is counted", () => {
  const range = rangeOf([...Array.from({ length: 50 }, (_, i) => -1 + i / 50), 1e6])!;
  assert.ok(range.high < 10);
  assert.equal(range.beyond, 1);
  assert.equal(rangeOf([NaN, Infinity]), null);
});

test("ticks are round numbers inside the scale", () => {
  assert.deepEqual(linear(0, 1, 0, 100).ticks.map((tick) => tick.text), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
  assert.deepEqual(logarithmic(1e-4, 1, 0, 100).ticks.map((tick) => tick.text), ["0.0001", "0.001", "0.01", "0.1", "1"]);
  assert.ok(linear(5, 5, 0, 100).ticks.length > 0);
});

test("a pointer finds the mark that is nearest", () => {
  const drawing = bestOverTime(experimentOf(), size, new Uint8Array(4).fill(1));
  const dot = drawing.marks.find((mark) => mark.kind === "dot" && mark.of?.trial === 2)!;
  const [x, y] = placeOf(dot)!;
  assert.equal(markAt(drawing.marks, x + 2, y)!.of!.trial, 2);
  assert.equal(markAt(drawing.marks, -500, -500), null);
});

test("attempts without a GPU share lanes, and those with one have its", () => {
  const at = (start: number, end: number, gpus = "") => ({ trial: 0, attempt: 1, node: "a", gpus, start, end, restored: 0, outcome: "", reason: "" });
  assert.deepEqual(lanesOf([at(0, 5), at(1, 3), at(4, 9)], 9).of, [[0], [1], [1]]);
  assert.deepEqual(lanesOf([at(0, 5, "0,1"), at(6, 9, "1")], 9).of, [[0, 1], [1]]);
});

test("the model of a clone came through its donor", () => {
  const stretches = experimentOf().raw.lineage!.stretches;
  assert.deepEqual(ancestry(stretches, 2), [2, 0]);
  assert.deepEqual(changing([{ a: 1, b: 2 }, { a: 1, b: 3 }], ["a", "b"]), ["b"]);
});

test("an iteration that may be a later one is marked in a lineage and in a schedule", () => {
  const experiment = experimentOf();
  experiment.raw.lineage!.stretches[2]!.to_is_guess = true;
  experiment.raw.lineage!.schedule!.steps[1]!.from_is_guess = true;
  const said = (drawing: { marks: { of?: { said: () => string } }[] }) => drawing.marks.flatMap((mark) => mark.of ? [mark.of.said()] : []).join("\n");
  assert.match(said(lineage(experiment, size, "lr")), /iterations 5 to 8 or later, a copy of/);
  assert.match(said(schedule(experiment, size, "lr")), /iterations 5 or later to 8 as/);
});

test("what the model of a clone was before is dashed, and the curve has no gap there", () => {
  const experiment = experimentOf();
  Object.assign(experiment.raw.curves!.trials[1]!, { since: 1 });
  const parts = curves(experiment, size, new Uint8Array(4).fill(1), []).marks.filter((mark) => mark.kind === "path" && mark.of?.trial === 1);
  assert.deepEqual(parts.map((mark) => mark.kind === "path" && [mark.dash !== undefined, mark.points.length]), [[true, 4], [false, 2]]);
});
