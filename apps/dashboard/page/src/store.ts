// What the reader has chosen: one truth for all pictures and the table. A live page makes a store of
// each newer report, which takes over what was chosen in the one before.
import { useEffect, useReducer } from "preact/hooks";
import type { Experiment, Report } from "./data";
import { isExperiment } from "./data";
import { axisOf, goodness, keptBy, type Axis, type Brush } from "./figures/parallel";

/** Where in the page: the fragment has digits alone, so that no text from outside can be in it. */
export interface Route { experiment: number; trial: number | null }

export function readRoute(fragment: string): Route {
  const found = /^#e(\d{1,6})(?:t(\d{1,9}))?$/.exec(fragment);
  return found ? { experiment: Number(found[1]), trial: found[2] === undefined ? null : Number(found[2]) } : { experiment: 0, trial: null };
}
export function linkTo(route: Route): string {
  return `#e${route.experiment}${route.trial === null ? "" : `t${route.trial}`}`;
}

/** Which value of the metric counts in the pictures that let one choose. */
export type Which = "best" | "last";

/** Of one experiment. */
export class Choice {
  brush: Brush = new Map();
  chosen = new Set<number>();
  which: Which = "best";
  /** Names of the hyperparameters that have an axis. */
  axisNames: string[];
  kept: Uint8Array;
  good: Float64Array;
  readonly all: Axis[];
  private readonly metrics: { [which in Which]?: Axis };
  /** Where several metrics count, an axis for each. */
  private readonly objectives: Axis[];

  constructor(readonly experiment: Experiment, before: Choice | undefined = undefined) {
    this.all = experiment.hyperparameters.map(({ column, domain }) => axisOf(column, domain));
    const objective = experiment.objective;
    const best = experiment.column("best");
    const last = objective && experiment.metricColumn(objective.metric);
    this.metrics = {};
    if (objective && best) this.metrics.best = { ...axisOf(best, null), name: `best ${objective.metric}` };
    if (objective && last) this.metrics.last = { ...axisOf(last, null), name: `last ${objective.metric}` };
    this.objectives = objective ? [] : experiment.raw.objectives.flatMap(({ metric }) => {
      const column = experiment.metricColumn(metric);
      return column ? [axisOf(column, null)] : [];
    });
    // One without trials had no axes to choose from.
    this.axisNames = before && before.all.length > 0 ? before.axisNames : this.firstAxes();
    if (before) [this.brush, this.chosen, this.which] = [before.brush, before.chosen, before.which];
    this.kept = keptBy([...this.all, ...this.valueAxes], this.brush, experiment.count);
    this.good = this.goodnessNow();
  }

  /** The most important ones; as many as fit beside each other. */
  private firstAxes(): string[] {
    const most = 8;
    const order = new Map((this.experiment.raw.importance?.importances ?? []).map((each, i) => ["config." + each.name, i]));
    const names = this.all.map((axis) => axis.name);
    if (names.length <= most) return names;
    const chosen = new Set([...names].sort((a, b) => (order.get(a) ?? 1e9) - (order.get(b) ?? 1e9)).slice(0, most));
    return names.filter((name) => chosen.has(name));
  }
  private goodnessNow(): Float64Array {
    const objective = this.experiment.objective;
    const metric = this.metric;
    return objective && metric ? goodness(metric.values, objective.mode) : new Float64Array(this.experiment.count).fill(0.5);
  }

  get metric(): Axis | undefined { return this.metrics[this.which]; }
  private get valueAxes(): Axis[] { return this.metric ? [this.metric] : this.objectives; }
  get axes(): Axis[] {
    const shown = this.all.filter((axis) => this.axisNames.includes(axis.name));
    return [...shown, ...this.valueAxes];
  }

  setRange(name: string, range: [number, number] | null): void {
    if (range) this.brush.set(name, range); else this.brush.delete(name);
    this.settle();
  }
  clear(): void { this.brush.clear(); this.chosen.clear(); this.settle(); }
  toggle(trial: number): void {
    if (!this.chosen.delete(trial)) this.chosen.add(trial);
    this.settle();
  }
  setWhich(which: Which): void {
    // A range on the old one would choose by what nobody sees.
    if (this.metric) this.brush.delete(this.metric.name);
    this.which = which;
    this.good = this.goodnessNow();
    this.settle();
  }
  setAxis(name: string, isShown: boolean): void {
    this.axisNames = isShown ? [...this.axisNames, name] : this.axisNames.filter((each) => each !== name);
    if (!isShown) this.brush.delete(name);
    this.settle();
  }
  private settle(): void {
    this.kept = keptBy([...this.all, ...this.valueAxes], this.brush, this.experiment.count);
    changed();
  }
}

const listeners = new Set<() => void>();
let pending = false;
/** Tells the page once in a frame, however often a brush moves. */
function changed(): void {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; for (const each of listeners) each(); });
}

export class Store {
  private readonly choices = new Map<number, Choice>();
  private readonly before: Map<number, Choice>;
  constructor(readonly report: Report, before: Store | null = null) {
    this.before = before ? new Map([...before.before, ...before.choices]) : new Map();
  }

  choice(at: number): Choice | null {
    const experiment = this.report.experiments[at];
    if (!experiment || !isExperiment(experiment)) return null;
    let choice = this.choices.get(at);
    if (!choice) {
      this.choices.set(at, choice = new Choice(experiment, this.before.get(at)));
      this.before.delete(at);
    }
    return choice;
  }
}

/** Draws the component again when something was chosen. */
export function useChanges(): void {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const listener = () => again(0);
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, []);
}

/** The fragment, and again when it changes. */
export function useRoute(): Route {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const listener = () => again(0);
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return readRoute(location.hash);
}
