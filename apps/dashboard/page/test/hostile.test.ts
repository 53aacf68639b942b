import assert from "node:assert/strict";
import { test } from "node:test";
import { numberOf, readReport, textOf, visible, type Cell } from "../src/data";
import { shellWord } from "../src/format";
import { csvOf, order } from "../src/parts/rows";
import { linkTo, readRoute } from "../src/store";
import { experimentOf } from "./sample";

test("what cannot be seen is shown by its number", () => {
  assert.equal(visible("a\u202eb\u0007\u0000"), "a⟨U+202E⟩b⟨U+0007⟩⟨U+0000⟩");
  assert.equal(visible("line\r\nnext\tcell"), "line\nnext\tcell");
  assert.equal(visible("\x1b[31mred\x1b[0m\x1b]0;title\x07"), "red⟨U+001B⟩]0;title⟨U+0007⟩");
});

test("names and values of a report are made visible once, wherever they stand", () => {
  const experiment = experimentOf({ name: "l\u202er", error: "a\u0000b" });
  assert.equal(experiment.raw.domains[0]!.name, "config.l⟨U+202E⟩r");
  assert.equal(experiment.text(0, "why"), "a⟨U+0000⟩b");
});

test("a name that every object has is a name like others", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    const experiment = experimentOf({ name });
    assert.equal(experiment.column(`config.${name}`)!.values[1], 0.01);
    assert.equal(experiment.column("hasOwnProperty"), undefined);
  }
  assert.equal(({} as Record<string, unknown>)["0.1"], undefined);
});

test("a fragment holds digits alone", () => {
  assert.deepEqual(readRoute("#e1t23"), { experiment: 1, trial: 23 });
  assert.deepEqual(readRoute(linkTo({ experiment: 2, trial: null })), { experiment: 2, trial: null });
  for (const bad of ["", "#", "#e1t<img>", "#e1t2t3", "#e-1", "#e1t9999999999", "#javascript:alert(1)"]) assert.deepEqual(readRoute(bad), { experiment: 0, trial: null });
});

test("a path becomes one word of a shell", () => {
  assert.equal(shellWord("results/digits"), "results/digits");
  assert.equal(shellWord("a b'; rm -rf ~"), `'a b'\\''; rm -rf ~'`);
});

test("rows are sorted by several columns, and what is missing comes last", () => {
  const columns = [{ title: "a", value: (row: number) => [1, 1, null, 0][row]! }, { title: "b", value: (row: number) => ["x", "y", "z", "NaN"][row]! }];
  assert.deepEqual(order(columns, [0, 1, 2, 3], [{ column: 0, down: false }, { column: 1, down: true }]), [3, 1, 0, 2]);
  assert.deepEqual(order(columns, [0, 1, 2, 3], [{ column: 0, down: true }]), [0, 1, 3, 2]);
});

test("CSV has all digits, and cells with commas, quotes and line ends are quoted", () => {
  const columns = [{ title: "a,b", value: (row: number) => [0.1234567890123, 'x"y'][row]! }, { title: "c", value: () => "1\n2" }];
  assert.equal(csvOf(columns, [0, 1]), '"a,b",c\n0.1234567890123,"1\n2"\n"x""y","1\n2"\n');
});

test("an experiment that cannot be read is a sentence beside the others", () => {
  const report = readReport(JSON.stringify({ format: 1, version: "0", made: 0, experiments: [{ directory: "x", problem: "there is none" }] }));
  assert.deepEqual({ ...report.experiments[0]! }, { directory: "x", problem: "there is none" });
});

test("whole numbers that no double is equal to keep their digits", () => {
  const wholes = '[1152921504606846977,-1152921504606846979,9007199254740993,{"n":[18446744073709551615]}]';
  const made = JSON.stringify({ format: 1, version: "whole:1", made: 0, experiments: [{ directory: 'a\\":1152921504606846977,\\"', problem: "WHOLES" }] });
  const report = readReport(made.replace('"WHOLES"', wholes));
  const [big, negative, odd, nested] = (report.experiments[0] as unknown as { problem: Cell[] }).problem;
  assert.deepEqual([textOf(big), textOf(negative), textOf(odd), textOf(nested)], ["1152921504606846977", "-1152921504606846979", "9007199254740993", '{"n":[18446744073709551615]}']);
  assert.equal(numberOf(big), 2 ** 60);
  assert.deepEqual([report.version, report.experiments[0]!.directory ?? ""], ["whole:1", 'a\\":1152921504606846977,\\"']);
  const columns = [{ title: "n", value: (row: number) => [big, 2 ** 60, 1, "NaN"][row]! as Cell }];
  assert.deepEqual(order(columns, [0, 1, 2, 3], [{ column: 0, down: true }]), [0, 1, 2, 3]);
  assert.equal(csvOf(columns, [0]), "n\n1152921504606846977\n");
});
