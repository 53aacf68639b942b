import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cell } from "../src/data";
import { EventParser, Recent, mergeFrames, type Frame } from "../src/live";
import { Choice } from "../src/store";
import { experimentOf } from "./sample";

const columns = ["trial_id", "state", "training_iteration", "best", "loss", "config.lr"];
const row = (trial: number, state: string, iteration: number, loss: Cell): Cell[] => [`trial_0000${trial}`, state, iteration, loss, loss, 0.5];
const frame = (event: number, rows: Cell[][]): Frame => ({ event, status: { trials: 5, states: { RUNNING: 1 }, ends: {}, results: 9, session_end: "", is_driven: true }, columns, rows, more: false });

test("events are whole however the text comes", () => {
  const parser = new EventParser();
  const text = 'event: rows\nid: 3\ndata: {"a":1}\n\nevent: ping\ndata: {}\n\n';
  const found = [...text].flatMap((c) => parser.take(c));
  assert.deepEqual(found, [{ kind: "rows", data: '{"a":1}' }, { kind: "ping", data: "{}" }]);
});

test("of several frames the newest row of each trial counts", () => {
  const merged = mergeFrames([frame(1, [row(0, "RUNNING", 3, 0.3), row(1, "RUNNING", 3, 0.2)]), frame(2, [row(0, "TERMINATED", 4, 0.1)])])!;
  assert.equal(merged.event, 2);
  assert.deepEqual(merged.rows.map((each) => [each[0], each[1]]), [["trial_00000", "TERMINATED"], ["trial_00001", "RUNNING"]]);
  assert.equal(mergeFrames([]), null);
});

test("rows change trials, begin new ones, and lengthen curves", () => {
  const old = experimentOf();
  const now = old.withRows(columns, [row(1, "RUNNING", 3, 0.05), row(4, "RUNNING", 1, 0.7)], frame(1, []).status);
  assert.equal(now.count, 5);
  assert.equal(now.text(1, "state"), "RUNNING");
  assert.equal(now.number(4, "config.lr"), 0.5);
  assert.equal(now.number(4, "started"), NaN);
  assert.deepEqual(now.raw.curves!.trials.find((curve) => curve.trial === 1)!.iterations, [1, 2, 3]);
  assert.deepEqual(now.raw.curves!.trials.find((curve) => curve.trial === 4)!.last, [0.7]);
  assert.equal(now.raw.status.results, 9);
  assert.deepEqual([old.count, old.text(1, "state"), old.raw.curves!.trials.length], [4, "TERMINATED", 4]);
});

test("a row of a trial whose neighbours are not known waits for the whole report", () => {
  assert.equal(experimentOf().withRows(columns, [row(7, "RUNNING", 1, 1)], null).count, 4);
});

test("what was chosen outlives a newer report", () => {
  const before = new Choice(experimentOf());
  before.brush.set("config.lr", [0.001, 0.2]);
  before.chosen.add(2);
  const after = new Choice(experimentOf().withRows(columns, [row(4, "RUNNING", 1, 0.7)], null), before);
  assert.deepEqual([...after.kept], [1, 1, 1, 0, 0]);
  assert.ok(after.chosen.has(2));
});

test("a report that is older than what a stream has told does not take it back", () => {
  const recent = new Recent();
  recent.add(frame(10, [row(0, "RUNNING", 3, 0.3)]));
  recent.add(frame(20, [row(1, "RUNNING", 3, 0.2)]));
  const of = (event: number) => { const made = experimentOf(); made.raw.status.events = event; return recent.over(made); };
  assert.deepEqual([of(5).text(0, "state"), of(5).text(1, "state")], ["RUNNING", "RUNNING"]);
  assert.deepEqual([of(10).text(0, "state"), of(10).text(1, "state")], ["TERMINATED", "RUNNING"]);
  assert.equal(of(20).text(1, "state"), "TERMINATED");
  assert.equal(of(5).text(1, "state"), "TERMINATED", "what a report had is forgotten");
});
