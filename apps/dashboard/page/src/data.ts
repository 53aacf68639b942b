// What the report holds, as `tune report` writes it: the JSON of other commands, with columns where
// there is a row for each trial. docs/report.md lists the fields. Nothing here computes a number.

/** A whole number that no double is equal to is a bigint, so that it keeps its digits. */
export type Cell = null | boolean | number | bigint | string | Cell[] | { [name: string]: Cell };

interface RawColumn {
  name: string;
  source: "own" | "metric" | "config";
  is_time: boolean;
  values?: Cell[];
  words?: string[];
  at?: number[];
}

export interface Objective { metric: string; mode: "min" | "max" }

export interface Domain {
  name: string;
  text: string;
  log: boolean;
  lower: number | null;
  upper: number | null;
  values: Cell[] | null;
}

export interface Finding { kind: string; sentence: string; trials: string[]; hyperparameters: string[] }

export interface Improvement {
  time: number; running_s: number; trials: number; results: number;
  trial_id: string; training_iteration: number; iteration_is_guess: boolean; value: Cell;
}

export interface SliceBin {
  lower: Cell; upper: Cell; upper_included: boolean; trials: number;
  best: Cell; median: Cell; lower_quartile: Cell; upper_quartile: Cell; marginal: Cell;
}
export interface Slice { name: string; importance: number | null; direction: string; bins: SliceBin[] }

export interface Curve {
  /** `since`: up to which iteration its model was another trial's; 0: never. */
  trial: number; results: number; since: number; iterations: number[];
  last: Cell[]; min: Cell[] | null; max: Cell[] | null;
}

export interface Rung {
  bracket: number; milestone: number; reached: number | null; went_on: number | null;
  waiting: number; cutoff: Cell;
}

export interface Stretch {
  trial_id: string; from: number; to: number; from_is_guess?: boolean; to_is_guess?: boolean; origin: number | null; is_present: boolean;
  config: { [name: string]: Cell };
}
export interface ScheduleStep { from: number; to: number; from_is_guess?: boolean; to_is_guess?: boolean; trial_id: string; config: { [name: string]: Cell } }

export interface Status {
  name: string; directory: string; trials: number; total_trials: number | null;
  states: { [state: string]: number }; ends: { [end: string]: number };
  best: { trial_id: string; metric: string; mode: string; value: Cell; best_iteration: number | null; last: Cell; tag: string } | null;
  driver: { host: string; pid: number; since: number } | null;
  rungs: { time_attr: string; metric: string; rungs: Rung[] } | null;
  started: number; running_s: number; sessions: number; results: number;
  checkpoints: { committed: number; kept: number; failed: number; bytes: number };
  stop_reason: string; session_end: string; events: number; notices: string[]; hangs: string[];
}

export interface Idle { node: string; gpu: string; from: number; to: number; why: string }

interface RawExperiment {
  directory: string;
  problem: string;
  sentence: string;
  findings: Finding[];
  status: Status;
  objectives: Objective[];
  domains: Domain[];
  trials: { count: number; columns: RawColumn[]; left_out: string[] };
  over_time: { metric: string; mode: string; improvements: Improvement[] } | null;
  over_time_problem: string;
  over_time_left_out: number;
  importance: {
    method: string; metric: string; iteration: number | null; trials: number; candidates: number;
    several_together: number | null; importances: { name: string; importance: number; trials: number }[];
  } | null;
  importance_problem: string;
  importance_notices: string[];
  slices: Slice[];
  curves: { metric: string; which: string; trials: Curve[] } | null;
  curves_problem: string;
  attempts: {
    trial: number[]; attempt: number[]; start: number[]; end: (number | null)[]; restored: number[];
    reason: string[]; node: RawColumn; gpus: RawColumn; outcome: RawColumn; count: number;
  };
  idle: Idle[];
  judgements: {
    trial: number[]; iteration: number[]; rung: number[]; score: Cell[]; cutoff: Cell[];
    went_on: boolean[]; count: number;
  };
  rung_agreements: { from: number; to: number; trials: number; rank_correlation: number; judged: number; ended: number }[];
  missing_events: number;
  checkpoints: {
    trials: { trial: number[]; made: number[]; failed: number[]; dropped: number[]; damaged: number[] };
    kept: {
      trial: number[]; index: number[]; training_iteration: number[]; is_guess: boolean[]; score: Cell[]; rank: (number | null)[];
      is_latest: boolean[]; triggers: string[]; bytes: number[]; where: string[]; path: string[]; is_pinned: boolean[];
    } | null;
  };
  lineage: {
    clonings: { trial_id: string; time: number; training_iteration: number; iteration_is_guess?: boolean; donor: string; donor_iteration: number | null; donor_iteration_is_guess?: boolean }[];
    stretches: Stretch[];
    schedule: { trial_id: string; steps: ScheduleStep[] } | null;
  } | null;
  logs: { trial: number; stream: string; text: string; left_out: number }[];
}

interface RawReport { format: number; version: string; made: number; experiments: RawExperiment[] }

export function isNumber(cell: Cell | undefined): cell is number | bigint {
  return typeof cell === "number" || typeof cell === "bigint";
}

export function iterationText(iteration: number | string, isGuess: boolean | undefined): string {
  return `${iteration}${isGuess && iteration !== "" ? " or later" : ""}`;
}

/** A finite number, or NaN: for null, for text, and for what JSON has no word for. As a place in a picture needs it. */
export function numberOf(cell: Cell | undefined): number {
  if (isNumber(cell)) return Number(cell);
  if (typeof cell === "boolean") return cell ? 1 : 0;
  return NaN;
}

/** As a table shows it; numbers with all their digits. */
export function textOf(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "string" ? cell : jsonOf(cell);
}

function jsonOf(cell: Cell): string {
  if (typeof cell === "bigint") return String(cell);
  if (Array.isArray(cell)) return `[${cell.map(jsonOf).join(",")}]`;
  if (cell === null || typeof cell !== "object") return JSON.stringify(cell);
  return `{${Object.entries(cell).map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`).join(",")}}`;
}

/** One value of each trial. */
export class Column {
  private numbers_: Float64Array | null = null;
  constructor(readonly name: string, readonly source: string, readonly isTime: boolean, readonly values: Cell[]) {}

  /** NaN where there is no finite number. */
  get numbers(): Float64Array {
    return (this.numbers_ ??= Float64Array.from(this.values, numberOf));
  }
  get isNumeric(): boolean {
    return this.values.every((each) => each === null || isNumber(each) || each === "NaN" ||
      each === "Infinity" || each === "-Infinity") && this.values.some((each) => each !== null);
  }
}

function columnOf(raw: RawColumn): Column {
  const values = raw.values ?? (raw.at ?? []).map((at) => (raw.words ?? [])[at] ?? "");
  return new Column(raw.name, raw.source, raw.is_time, values);
}

export interface Attempt {
  trial: number; attempt: number; node: string; gpus: string; start: number; end: number | null;
  restored: number; outcome: string; reason: string;
}

/** What a stream counts. */
export interface LiveStatus {
  trials: number; states: { [state: string]: number }; ends: { [end: string]: number }; results: number; session_end: string; is_driven: boolean;
}

export class Experiment {
  readonly columns: Column[];
  private readonly byName: Map<string, Column>;
  readonly attempts: Attempt[];

  constructor(readonly raw: RawExperiment) {
    this.columns = raw.trials.columns.map(columnOf);
    this.byName = new Map(this.columns.map((column) => [column.name, column]));
    const all = raw.attempts;
    const [node, gpus, outcome] = [columnOf(all.node), columnOf(all.gpus), columnOf(all.outcome)];
    this.attempts = all.trial.map((trial, i) => ({
      trial, attempt: all.attempt[i]!, start: all.start[i]!, end: all.end[i]!, restored: all.restored[i]!,
      reason: all.reason[i]!, node: textOf(node.values[i]), gpus: textOf(gpus.values[i]), outcome: textOf(outcome.values[i]),
    }));
  }

  get count(): number { return this.raw.trials.count; }
  get objective(): Objective | null { return this.raw.objectives.length === 1 ? this.raw.objectives[0]! : null; }
  column(name: string): Column | undefined { return this.byName.get(name); }
  /** The trial's field as text; empty where there is none. */
  text(trial: number, name: string): string { return textOf(this.column(name)?.values[trial]); }
  number(trial: number, name: string): number { return numberOf(this.column(name)?.values[trial]); }
  /** As tables of `tune` have it: "20 or later", if its program went on from a checkpoint of which nothing proved which result it has. */
  iteration(trial: number, name: "training_iteration" | "best_iteration" = "training_iteration"): string {
    const isGuess = this.column(name === "best_iteration" ? "best_iteration_is_guess" : "iteration_is_guess")?.values[trial] === true;
    return iterationText(this.text(trial, name), isGuess);
  }
  id(trial: number): string { return this.text(trial, "trial_id"); }
  /** "trial_00003": 3, as tune numbers trials without holes. */
  trialOf(id: string): number { return Number(/(\d+)$/.exec(id)?.[1] ?? NaN); }
  /** The column of a hyperparameter, and what it is drawn from. */
  get hyperparameters(): { domain: Domain; column: Column }[] {
    return this.raw.domains.flatMap((domain) => {
      const column = this.column(domain.name);
      return column ? [{ domain, column }] : [];
    });
  }
  /** The column of the metric in the last result. */
  metricColumn(metric: string): Column | undefined {
    return this.columns.find((each) => each.source === "metric" && (each.name === metric || each.name === "metrics." + metric));
  }
  /** The same with what a stream has told since: a row of values for some trials, and what is counted. */
  withRows(names: string[], rows: Cell[][], status: LiveStatus | null): Experiment {
    const values = new Map(this.columns.map((column) => [column.name, [...column.values]]));
    const targets = names.map((name) => values.get(name) ?? values.get("metrics." + name));
    const [idAt, iterationAt] = [names.indexOf("trial_id"), names.indexOf("training_iteration")];
    const metricAt = this.objective ? names.indexOf(this.objective.metric) : -1;
    const curves = new Map((this.raw.curves?.trials ?? []).map((curve) => [curve.trial, curve]));
    const hasAll = this.raw.curves?.which.startsWith("all ") ?? false;
    let n = this.count;
    for (const row of rows) {
      const trial = this.trialOf(textOf(row[idAt]));
      if (!(trial <= n)) continue;  // those before it come with the next whole report
      n = Math.max(n, trial + 1);
      targets.forEach((target, i) => { if (target) target[trial] = row[i] ?? null; });
      const [iteration, value] = [numberOf(row[iterationAt]), row[metricAt] ?? null];
      const curve = curves.get(trial) ?? (hasAll ? { trial, results: 0, since: 0, iterations: [], last: [], min: null, max: null } : null);
      if (!curve || metricAt < 0 || value === null || !(iteration > (curve.iterations[curve.iterations.length - 1] ?? 0))) continue;
      curves.set(trial, {
        ...curve, results: curve.results + 1, iterations: [...curve.iterations, iteration], last: [...curve.last, value],
        min: curve.min && [...curve.min, value], max: curve.max && [...curve.max, value],
      });
    }
    const columns = this.columns.map(({ name, source, isTime }): RawColumn => ({
      name, source: source as RawColumn["source"], is_time: isTime, values: Array.from({ length: n }, (_, i) => values.get(name)![i] ?? null),
    }));
    const old = this.raw.status;
    return new Experiment({
      ...this.raw, trials: { ...this.raw.trials, count: n, columns },
      curves: this.raw.curves && { ...this.raw.curves, which: hasAll ? `all ${curves.size.toLocaleString("en-US")} trials` : this.raw.curves.which, trials: [...curves.values()] },
      status: status ? { ...old, trials: status.trials, states: status.states, ends: status.ends, results: status.results, session_end: status.session_end, driver: status.is_driven ? old.driver : null } : old,
    });
  }
  /** How the trial has ended, or its state. */
  endOf(trial: number): string { return this.text(trial, "end") || this.text(trial, "state"); }
}

/** One that cannot be read, and why. */
export class Unreadable {
  constructor(readonly directory: string, readonly problem: string) {}
}

export interface Report { version: string; made: number; experiments: (Unreadable | Experiment)[] }

export function isExperiment(one: Unreadable | Experiment): one is Experiment {
  return one instanceof Experiment;
}

/** Control characters but line ends and tabs, and what turns the direction of writing or hides. */
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const invisibleOnce = new RegExp(invisible.source);

/** Makes what cannot be seen visible: "⟨U+202E⟩". */
export function visible(text: string): string {
  return text.replace(/\x1b\[[0-9;]*m/g, "")
    .replace(/\r\n/g, "\n")
    .replace(invisible, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** All texts and names in it anew; a text may become another value. */
function eachText(cell: Cell, make: (text: string) => Cell, rename: (name: string) => string): Cell {
  if (typeof cell === "string") return make(cell);
  if (Array.isArray(cell)) return cell.map((each) => eachText(each, make, rename));
  if (cell === null || typeof cell !== "object") return cell;
  // A name may be "__proto__": no assignment.
  return Object.fromEntries(Object.entries(cell).map(([name, value]) => [rename(name), eachText(value, make, rename)]));
}

/** Parses it. `JSON.parse` alone makes doubles of whole numbers, which changes the digits of long ones. */
function parsed(json: string): Cell {
  if (!/[[:,]\s*-?\d{16,}\s*[,\]}]/.test(json)) return JSON.parse(json) as Cell;
  let mark = "whole:";
  while (json.includes(mark)) mark += ":";
  const marked = json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token);
  return eachText(JSON.parse(marked) as Cell, (text) => text.startsWith(mark) ? BigInt(text.slice(mark.length)) : text, (name) => name);
}

/** Parses what tune has sent; no text of it has anything that cannot be seen. */
export function readJson(json: string): Cell {
  const cell = parsed(json);
  const hasInvisible = invisibleOnce.test(json) || /\\u00[0189][0-9a-f]|\\u007f|\\[rbf]/i.test(json);
  return hasInvisible ? eachText(cell, (text) => invisibleOnce.test(text) ? visible(text) : text, visible) : cell;
}

/** Reads the report once. */
export function readReport(json: string): Report {
  const raw = readJson(json) as unknown as RawReport;
  return {
    version: raw.version, made: raw.made,
    experiments: raw.experiments.map((each) => each.problem ? new Unreadable(each.directory, each.problem) : new Experiment(each)),
  };
}
