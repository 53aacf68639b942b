// One experiment: what was searched and what came out, and then each picture.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Experiment } from "../data";
import { iterationText, numberOf, textOf } from "../data";
import { count, duration, moment, shellWord } from "../format";
import { bestOverTime } from "../figures/best_over_time";
import { checkpoints } from "../figures/checkpoints";
import { curves, type Cutoff } from "../figures/curves";
import { importance, importanceRow } from "../figures/importance";
import { changing, laneHeight, lineage, schedule } from "../figures/lineage";
import { axisPlaces, parallel, rangeOfDrag, rangeText, shortName, top } from "../figures/parallel";
import { region } from "../figures/region";
import { rungs } from "../figures/rungs";
import { slice } from "../figures/slices";
import { lanesOf, timeline, timelineHeight } from "../figures/timeline";
import type { Size } from "../figures/drawing";
import type { Live } from "../live";
import { Steering } from "./live";
import { Picture, type Drag } from "../parts/picture";
import { Ranges } from "../parts/ranges";
import type { RowsOf } from "../parts/rows";
import { TrialsTable } from "../parts/trials_table";
import { linkTo, useChanges, type Choice } from "../store";

export function cutoffsOf(experiment: Experiment): Cutoff[] {
  const report = experiment.raw.status.rungs;
  if (report?.time_attr !== "training_iteration") return [];
  return report.rungs.map((rung) => ({ iteration: rung.milestone, value: numberOf(rung.cutoff) })).filter((each) => Number.isFinite(each.value));
}

/** Columns of equal lengths as rows. */
function rowsOf(columns: { [title: string]: ArrayLike<unknown> }): RowsOf {
  const all = Object.entries(columns);
  return { count: all[0]?.[1].length ?? 0, columns: all.map(([title, values]) => ({ title, value: (row) => (values[row] ?? null) as never })) };
}

function Section({ title, id, children }: { title: string; id: string; children: ComponentChildren }) {
  return <section aria-labelledby={id}><h2 id={id}>{title}</h2>{children}</section>;
}

function Findings({ choice, open, at }: { choice: Choice; open: (trial: number) => void; at: number }) {
  const experiment = choice.experiment;
  const { findings, status } = experiment.raw;
  const regions = findings.filter((each) => each.kind === "failures" && each.hyperparameters.length > 0);
  return (
    <Section title="Findings" id="findings">
      {findings.length === 0 && <p>Nothing stands out: no failures, no best values at the edge of a range, no GPU that was free for long.</p>}
      <ul class="findings">{findings.map((each, i) => (
        <li key={i} class={each.kind}>{each.sentence}{each.trials.length > 0 && <span class="trials">{" "}{each.trials.slice(0, 5).map((id) => <a key={id} href={linkTo({ experiment: at, trial: experiment.trialOf(id) })}>{id}</a>)}{each.trials.length > 5 && <span>and {count(each.trials.length - 5, "more", "more")}</span>}</span>}</li>
      ))}</ul>
      {regions.map((each, i) => <Picture key={i} height={260} of={[choice]} open={open} draw={(size) => region(experiment, size, each.hyperparameters)}
        rows={() => {
          const failed = [...Array(experiment.count).keys()].filter((trial) => experiment.endOf(trial) === "failed");
          return rowsOf({ trial: failed.map((trial) => experiment.id(trial)), ...Object.fromEntries(each.hyperparameters.map((name) => [name, failed.map((trial) => experiment.column("config." + name)?.values[trial] ?? null)])), error: failed.map((trial) => experiment.text(trial, "error")) });
        }} />)}
      {[...status.notices, ...status.hangs].map((each, i) => <p key={i} class="notice">{each}</p>)}
      {experiment.raw.missing_events > 0 && <p class="notice">{count(experiment.raw.missing_events, "event")} cannot be read any more: launches, rungs and checkpoints are those before them.</p>}
    </Section>
  );
}

function ParallelPicture({ choice, open }: { choice: Choice; open: (trial: number) => void }) {
  const { axes, experiment } = choice;
  // A drag may outlast the choice that it began with, where reports come one after the other.
  const present = useRef(choice);
  present.current = choice;
  const drag = (size: Size): Drag => {
    const places = axisPlaces(axes, size);
    let axis = -1;
    let from = 0;
    let hasMoved = false;
    return {
      start(x, y) {
        axis = places.findIndex((place) => Math.abs(place - x) <= 16);
        from = y;
        return axis >= 0 && y >= top - 12;
      },
      move(_, y) {
        if (Math.abs(y - from) < 4) return;
        hasMoved = true;
        present.current.setRange(axes[axis]!.name, rangeOfDrag(axes[axis]!, size, from, y));
      },
      end() { if (!hasMoved) present.current.setRange(axes[axis]!.name, null); },
      cancel() { present.current.setRange(axes[axis]!.name, null); },
    };
  };
  const inside = choice.kept.reduce((a, b) => a + b, 0);
  return (
    <>
      <div class="controls">
        {experiment.objective && <label>value <select value={choice.which} onChange={(event) => choice.setWhich(event.currentTarget.value as "best" | "last")}>
          <option value="best">best {experiment.objective.metric} of all results</option>
          <option value="last">last {experiment.objective.metric}</option>
        </select></label>}
        {[...choice.brush].map(([name, range]) => {
          const axis = axes.find((each) => each.name === name);
          return axis && <button key={name} type="button" class="chip" title="take this range away" onClick={() => choice.setRange(name, null)}>{shortName(name)}: {rangeText(axis, range)} ×</button>;
        })}
        {(choice.brush.size > 0 || choice.chosen.size > 0) && <button type="button" onClick={() => choice.clear()}>show all</button>}
        <span>{inside === experiment.count ? count(inside, "trial") : `${inside.toLocaleString("en-US")} of ${count(experiment.count, "trial")}`}</span>
      </div>
      <Picture height={300} of={[choice.kept, choice.good, choice.chosen.size, choice.axisNames.length, choice.which]} open={open} drag={drag}
        draw={(size) => parallel(axes, choice.good, choice.kept, choice.chosen, choice.brush, size)}>
        <p class="hint">Drag along an axis to choose a range; click the axis to drop it. Mark a row of the table to see its line.</p>
        <Ranges choice={choice} />
      </Picture>
    </>
  );
}

function Slices({ choice, open }: { choice: Choice; open: (trial: number) => void }) {
  const experiment = choice.experiment;
  const [most, setMost] = useState(6);
  const order = new Map((experiment.raw.importance?.importances ?? []).map((each, i) => [each.name, i]));
  const names = experiment.hyperparameters.map((each) => each.domain.name)
    .sort((a, b) => (order.get(shortName(a)) ?? 1e9) - (order.get(shortName(b)) ?? 1e9));
  return (
    <Section title="Along each hyperparameter" id="slices">
      <p>Each trial's best value, the better, the stronger its colour. Bands are quartiles and lines medians of parts of the range, as <code>tune importance --slice</code> has them.</p>
      <div class="grid">{names.slice(0, most).map((name) => {
        const found = experiment.raw.slices.find((each) => each.name === shortName(name));
        return (
          <Picture key={name} height={230} of={[experiment, choice.kept, choice.good]} open={open} draw={(size) => slice(experiment, name, choice.good, choice.kept, size, found)}
            rows={found && (() => rowsOf({
              from: found.bins.map((each) => each.lower), to: found.bins.map((each) => each.upper), trials: found.bins.map((each) => each.trials), best: found.bins.map((each) => each.best),
              "lower quartile": found.bins.map((each) => each.lower_quartile), median: found.bins.map((each) => each.median), "upper quartile": found.bins.map((each) => each.upper_quartile),
            }))} />
        );
      })}</div>
      {names.length > most && <button type="button" onClick={() => setMost(names.length)}>show the other {names.length - most}</button>}
    </Section>
  );
}

function Lineage({ choice, open }: { choice: Choice; open: (trial: number) => void }) {
  const experiment = choice.experiment;
  const raw = experiment.raw.lineage!;
  const names = experiment.hyperparameters.map((each) => shortName(each.domain.name));
  const varied = changing(raw.stretches.map((each) => each.config), names);
  const [colourBy, setColour] = useState(varied[0] ?? names[0] ?? "");
  const steps = raw.schedule?.steps ?? [];
  const scheduled = changing(steps.map((step) => step.config), names);
  const lanes = new Set(raw.stretches.map((each) => each.trial_id)).size;
  return (
    <Section title="Lineage" id="lineage">
      <div class="controls"><label>colour <select value={colourBy} onChange={(event) => setColour(event.currentTarget.value)}>{names.map((name) => <option key={name}>{name}</option>)}</select></label></div>
      <Picture height={60 + lanes * laneHeight(lanes)} of={[choice, colourBy]} open={open} draw={(size) => lineage(experiment, size, colourBy)}
        rows={() => rowsOf({
          trial: raw.clonings.map((each) => each.trial_id), "at iteration": raw.clonings.map((each) => iterationText(each.training_iteration, each.iteration_is_guess)),
          "copy of": raw.clonings.map((each) => each.donor), "from iteration": raw.clonings.map((each) => iterationText(each.donor_iteration ?? "", each.donor_iteration_is_guess)),
        })} />
      {raw.schedule && steps.length > 0 && <>
        <h3>The schedule of the best model, now {raw.schedule.trial_id}</h3>
        <div class="grid">{scheduled.slice(0, 6).map((name) => <Picture key={name} height={180} of={[choice]} open={open} draw={(size) => schedule(experiment, size, name)} />)}</div>
        <div class="table"><table>
          <thead><tr><th>from</th><th>to</th><th>as</th>{scheduled.map((name) => <th key={name}>{name}</th>)}</tr></thead>
          <tbody>{steps.map((step, i) => <tr key={i}><td class="number">{iterationText(step.from, step.from_is_guess)}</td><td class="number">{iterationText(step.to, step.to_is_guess)}</td><td>{step.trial_id}</td>{scheduled.map((name) => <td key={name}>{textOf((step.config as never)[name] ?? null)}</td>)}</tr>)}</tbody>
        </table></div>
      </>}
    </Section>
  );
}

export function Overview({ choice, at, open, live }: { choice: Choice; at: number; open: (trial: number) => void; live?: Live }) {
  useChanges();
  const experiment = choice.experiment;
  const raw = experiment.raw;
  const status = raw.status;
  const cutoffs = cutoffsOf(experiment);
  const end = useMemo(() => experiment.attempts.reduce((a, each) => Math.max(a, each.end ?? each.start), 0), [experiment]);
  const lanes = useMemo(() => lanesOf(experiment.attempts, end).lanes.length, [experiment]);
  const ends = Object.entries({ ...status.ends, running: status.states.RUNNING ?? 0, paused: status.states.PAUSED ?? 0, waiting: status.states.PENDING ?? 0 }).filter(([, n]) => n > 0);
  return (
    <main>
      <h1>{status.name}</h1>
      <p class="lead">{raw.sentence}</p>
      <dl class="facts">
        {ends.map(([word, n]) => <div key={word}><dt>{word}</dt><dd>{n.toLocaleString("en-US")}</dd></div>)}
        <div><dt>results</dt><dd>{status.results.toLocaleString("en-US")}</dd></div>
        <div><dt>started</dt><dd>{moment(status.started)}</dd></div>
        <div><dt>running time</dt><dd>{duration(status.running_s)}{status.sessions > 1 ? ` in ${status.sessions} sessions` : ""}</dd></div>
        <div><dt>driver</dt><dd>{status.driver ? `${status.driver.host}, process ${status.driver.pid}` : status.session_end || "none"}</dd></div>
        <div><dt>directory</dt><dd><code>{raw.directory}</code></dd></div>
      </dl>
      {live && <Steering live={live} experiment={experiment} trial={null} />}
      <div class="first">
        {experiment.objective && <section aria-labelledby="best"><h2 id="best">Best so far</h2>
          <Picture height={250} of={[experiment, choice.kept]} open={open} draw={(size) => bestOverTime(experiment, size, choice.kept)}
            rows={() => {
              const all = raw.over_time?.improvements ?? [];
              return rowsOf({ trial: all.map((each) => each.trial_id), iteration: all.map((each) => each.training_iteration), "or later": all.map((each) => each.iteration_is_guess ? "yes" : ""), value: all.map((each) => each.value), "running s": all.map((each) => each.running_s), trials: all.map((each) => each.trials), results: all.map((each) => each.results), time: all.map((each) => moment(each.time)) });
            }} />
        </section>}
        <Findings choice={choice} open={open} at={at} />
      </div>
      <Section title="Trials" id="trials">
        <div class="second">
          <div><ParallelPicture choice={choice} open={open} /></div>
          <div><TrialsTable choice={choice} at={at} /></div>
        </div>
        {raw.trials.left_out.length > 0 && <details><summary>{count(raw.trials.left_out.length, "field")} of trials are too many for this file: <code>tune ls --json</code> has them</summary><p>{raw.trials.left_out.slice(0, 500).join(", ")}</p></details>}
      </Section>
      {experiment.objective && <Section title="Curves" id="curves">
        <Picture height={340} of={[experiment, choice.kept]} open={open} draw={(size) => curves(experiment, size, choice.kept, cutoffs)}
          rows={() => rowsOf({ trial: (raw.curves?.trials ?? []).map((each) => experiment.id(each.trial)), results: (raw.curves?.trials ?? []).map((each) => each.results), last: (raw.curves?.trials ?? []).map((each) => each.last[each.last.length - 1] ?? null), end: (raw.curves?.trials ?? []).map((each) => experiment.endOf(each.trial)), why: (raw.curves?.trials ?? []).map((each) => experiment.text(each.trial, "why")) })}>
          <p class="hint">Green: completed. Grey: pruned. Red: failed. A red dash is a rung's cutoff.{raw.curves?.trials.some((each) => each.since > 0) && " Dashed: of a clone, the results of the trials that its model was before."} <code>{`tune export ${shellWord(raw.directory)} --curves FILE`}</code> writes all of them.</p>
        </Picture>
      </Section>}
      <Section title="Which hyperparameters matter" id="importance">
        <Picture height={10 + importanceRow * ((raw.importance?.importances.length ?? 0) + 1)} of={[choice]} draw={(size) => importance(experiment, size)}
          rows={() => rowsOf({ hyperparameter: (raw.importance?.importances ?? []).map((each) => each.name), importance: (raw.importance?.importances ?? []).map((each) => each.importance), trials: (raw.importance?.importances ?? []).map((each) => each.trials) })} />
        {raw.importance_notices.map((each, i) => <p key={i} class="notice">{each}</p>)}
      </Section>
      {experiment.objective && experiment.hyperparameters.length > 0 && <Slices choice={choice} open={open} />}
      {(raw.judgements.count > 0 || status.rungs) && <Section title="Early stopping" id="rungs">
        <Picture height={320} of={[experiment, choice.kept]} open={open} draw={(size) => rungs(experiment, size, choice.kept)}
          rows={() => rowsOf({ trial: raw.judgements.trial.map((each) => experiment.id(each)), rung: raw.judgements.rung, score: raw.judgements.score, "cutoff then": raw.judgements.cutoff, "went on": raw.judgements.went_on.map((each) => each ? "yes" : "") })} />
        {status.rungs && <div class="table"><table>
          <thead><tr><th>bracket</th><th>milestone</th><th>reached</th><th>went on</th><th>waiting</th><th>cutoff</th></tr></thead>
          <tbody>{status.rungs.rungs.map((rung, i) => <tr key={i}>{[rung.bracket, rung.milestone, rung.reached, rung.went_on, rung.waiting, rung.cutoff].map((value, j) => <td key={j} class="number">{textOf(value)}</td>)}</tr>)}</tbody>
        </table></div>}
        {raw.rung_agreements.length > 0 && <ul>{raw.rung_agreements.map((each, i) => <li key={i}>Between {each.from} and {each.to}: rank correlation {each.rank_correlation.toFixed(2)} over the {count(each.trials, "trial")} judged at both; {each.ended.toLocaleString("en-US")} of the {each.judged.toLocaleString("en-US")} judged at {each.from} went no further.</li>)}</ul>}
      </Section>}
      {raw.lineage && <Lineage choice={choice} open={open} />}
      {experiment.attempts.length > 0 && <Section title="Who ran where and when" id="timeline">
        <Picture height={timelineHeight(lanes)} of={[experiment, choice.kept]} open={open} draw={(size) => timeline(experiment, size, choice.kept)}
          rows={() => rowsOf({ trial: experiment.attempts.map((each) => experiment.id(each.trial)), attempt: experiment.attempts.map((each) => each.attempt), node: experiment.attempts.map((each) => each.node), gpus: experiment.attempts.map((each) => each.gpus), start: experiment.attempts.map((each) => moment(each.start)), end: experiment.attempts.map((each) => each.end === null ? "" : moment(each.end)), outcome: experiment.attempts.map((each) => each.outcome), reason: experiment.attempts.map((each) => each.reason) })}>
          <p class="hint">Green: completed. Grey: pruned, or interrupted. Orange: paused, or stopped. Blue: went on as a copy. Red: failed. Thin orange: a free GPU, with the reason.</p>
        </Picture>
      </Section>}
      {status.checkpoints.committed + status.checkpoints.failed > 0 && <Section title="Checkpoints" id="checkpoints">
        <Picture height={raw.checkpoints.kept && raw.checkpoints.kept.trial.length > 0 ? Math.min(500, 70 + 14 * new Set(raw.checkpoints.kept.trial).size) : 0} of={[experiment, choice.kept]} open={open} draw={(size) => checkpoints(experiment, size, choice.kept)}
          rows={raw.checkpoints.kept ? () => { const kept = raw.checkpoints.kept!; return rowsOf({ trial: kept.trial.map((each) => experiment.id(each)), checkpoint: kept.index, iteration: kept.training_iteration, "or later": kept.is_guess.map((each) => each ? "yes" : ""), score: kept.score, rank: kept.rank, latest: kept.is_latest.map((each) => each ? "yes" : ""), pinned: kept.is_pinned.map((each) => each ? "yes" : ""), bytes: kept.bytes, where: kept.where, why: kept.triggers, path: kept.path }); } : undefined} />
        {raw.checkpoints.kept && <p class="hint">Green: the best of its trial. Orange: pinned, since a clone goes on from it. A ring: only on the remote. Red: missing.</p>}
        {!raw.checkpoints.kept && <p>There are too many for this file: <code>tune checkpoints --json</code> has them.</p>}
      </Section>}
    </main>
  );
}
