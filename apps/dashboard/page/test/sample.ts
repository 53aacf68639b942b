// A report as tune writes it, small, for tests of figures.
import { readReport, type Experiment } from "../src/data";

export interface Wishes { values?: unknown[]; lr?: unknown[]; name?: string; mode?: "min" | "max"; error?: string }

export function experimentOf(wishes: Wishes = {}): Experiment {
  const lr = wishes.lr ?? [0.1, 0.01, 0.001, 0.0001];
  const values = wishes.values ?? [0.4, 0.1, 0.3, 0.2];
  const n = lr.length;
  const name = wishes.name ?? "lr";
  const each = <T>(value: T) => Array.from({ length: n }, () => value);
  const own = (column: string, list: unknown[], is_time = false) => ({ name: column, source: "own", is_time, values: list });
  const objective = { metric: "loss", mode: wishes.mode ?? "min" };
  const report = {
    format: 1, version: "0", made: 0, experiments: [{
      directory: "results/x", problem: "", sentence: "x", findings: [], objectives: [objective],
      status: {
        name: "x", trials: n, total_trials: n, states: {}, ends: {}, best: null, driver: null, started: 1000, running_s: 100, sessions: 1, results: n,
        rungs: { time_attr: "training_iteration", metric: "loss", rungs: [{ bracket: 0, milestone: 1, reached: n, went_on: 1, waiting: 0, cutoff: 0.2 }] },
        checkpoints: { committed: 3, kept: 1, failed: 0, bytes: 2048 }, notices: [], hangs: [],
      },
      domains: [{ name: `config.${name}`, text: "", log: true, lower: 1e-4, upper: 1, values: null }],
      trials: {
        count: n, left_out: [], columns: [
          own("trial_id", lr.map((_, i) => `trial_0000${i}`)), own("best", values), { name: "end", source: "own", is_time: false, words: ["completed", "failed"], at: lr.map((_, i) => i === 0 ? 1 : 0) },
          own("state", each("TERMINATED")), own("training_iteration", each(2)), own("iteration_is_guess", lr.map((_, i) => i === 1)), own("started", each(1000), true), own("ended", lr.map((_, i) => 1010 + i), true), own("duration_s", each(10)), own("why", each(wishes.error ?? "")),
          { name: "loss", source: "metric", is_time: false, values }, { name: `config.${name}`, source: "config", is_time: false, values: lr },
        ],
      },
      over_time: { ...objective, improvements: [{ time: 1010, running_s: 10, trials: 1, results: 1, trial_id: "trial_00000", training_iteration: 1, iteration_is_guess: false, value: 0.4 }, { time: 1011, running_s: 11, trials: 2, results: 2, trial_id: "trial_00001", training_iteration: 1, iteration_is_guess: true, value: 0.1 }] },
      over_time_problem: "", over_time_left_out: 0, importance: { method: "fanova", metric: "loss", iteration: null, trials: n, candidates: n, several_together: 0.2, importances: [{ name, importance: 0.8, trials: n }] },
      importance_problem: "", importance_notices: [], slices: [{ name, importance: 0.8, direction: "lower is better", bins: [] }],
      curves: { metric: "loss", which: `all ${n} trials`, trials: lr.map((_, i) => ({ trial: i, results: 2, since: 0, iterations: [1, 2], last: [1, values[i]], min: null, max: null })) },
      curves_problem: "", idle: [{ node: "a", gpu: "1", from: 1005, to: 1009, why: "no trial was left to start" }],
      attempts: {
        count: n, trial: lr.map((_, i) => i), attempt: each(1), start: lr.map((_, i) => 1000 + i), end: lr.map((_, i) => i === n - 1 ? null : 1003 + i), restored: each(0), reason: each(""),
        node: own("node", each("a")), gpus: own("gpus", lr.map((_, i) => String(i % 2))), outcome: own("outcome", each("completed")),
      },
      judgements: { count: 2, trial: [0, 1], iteration: [1, 1], rung: [1, 1], score: [0.4, 0.1], cutoff: [null, 0.2], went_on: [false, true] },
      rung_agreements: [], missing_events: 0,
      checkpoints: { trials: { trial: [1], made: [3], failed: [0], dropped: [2], damaged: [0] }, kept: { trial: [1], index: [3], training_iteration: [2], is_guess: [true], score: [0.1], rank: [1], is_latest: [true], triggers: ["at_end"], bytes: [2048], where: ["here"], path: ["x"], is_pinned: [true] } },
      lineage: {
        clonings: [{ trial_id: "trial_00001", time: 1, training_iteration: 3, donor: "trial_00000", donor_iteration: 4 }],
        stretches: [{ trial_id: "trial_00000", from: 0, to: 6, origin: null, is_present: true, config: { [name]: 0.1 } }, { trial_id: "trial_00001", from: 0, to: 3, origin: null, is_present: false, config: { [name]: 0.2 } }, { trial_id: "trial_00001", from: 4, to: 8, origin: 0, is_present: true, config: { [name]: 0.3 } }],
        schedule: { trial_id: "trial_00001", steps: [{ from: 0, to: 4, trial_id: "trial_00000", config: { [name]: 0.1 } }, { from: 4, to: 8, trial_id: "trial_00001", config: { [name]: 0.3 } }] },
      },
      logs: [],
    }],
  };
  return readReport(JSON.stringify(report)).experiments[0] as Experiment;
}
