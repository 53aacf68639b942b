// One trial: what it was, how it went, why it ended, what it printed.
import type { Choice } from "../store";
import { linkTo } from "../store";
import { isNumber, iterationText, numberOf, textOf, type ScheduleStep } from "../data";
import { count, duration, moment, shellWord, short } from "../format";
import { ancestry, changing, valueIn } from "../figures/lineage";
import { curves } from "../figures/curves";
import { shortName } from "../figures/parallel";
import type { Live } from "../live";
import { LiveLogs, Steering } from "./live";
import { Picture } from "../parts/picture";
import { cutoffsOf } from "./overview";

export function TrialPage({ choice, at, trial, open, live }: { choice: Choice; at: number; trial: number; open: (trial: number) => void; live?: Live }) {
  const experiment = choice.experiment;
  const raw = experiment.raw;
  if (trial >= experiment.count) return <main><h1>No trial {trial}</h1><p>{raw.status.name} has {count(experiment.count, "trial")}. <a href={linkTo({ experiment: at, trial: null })}>Back to all of them</a></p></main>;
  const best = raw.status.best ? experiment.trialOf(raw.status.best.trial_id) : null;
  const field = (name: string) => experiment.text(trial, name);
  const attempts = experiment.attempts.filter((each) => each.trial === trial);
  const judged = raw.judgements.trial.flatMap((each, i) => each === trial ? [i] : []);
  const kept = raw.checkpoints.kept;
  const own = kept ? kept.trial.flatMap((each, i) => each === trial ? [i] : []) : [];
  const made = raw.checkpoints.trials;
  const tally = made.trial.indexOf(trial);
  const logs = raw.logs.filter((each) => each.trial === trial);
  const stretches = raw.lineage?.stretches ?? [];
  const present = stretches.findIndex((each) => each.trial_id === experiment.id(trial) && each.is_present);
  const chain = present >= 0 ? ancestry(stretches, present).reverse() : [];
  // What came after the cloning in a stretch is not this model's.
  const steps: ScheduleStep[] = chain.map((i, place) => {
    const next = place + 1 < chain.length ? stretches[chain[place + 1]!]! : null;
    return next ? { ...stretches[i]!, to: next.from, to_is_guess: next.from_is_guess ?? false } : stretches[i]!;
  });
  const changed = changing(steps.map((step) => step.config), experiment.hyperparameters.map((each) => shortName(each.domain.name)));
  const curve = raw.curves?.trials.find((each) => each.trial === trial);
  const configs = experiment.columns.filter((column) => column.source === "config" && column.values[trial] !== null);
  const metrics = experiment.columns.filter((column) => column.source === "metric" && column.values[trial] !== null);
  const words = `${shellWord(raw.directory)} ${trial}`;
  const bests = experiment.column("best")?.values ?? [];
  const itsBest = bests[trial];
  const rank = isNumber(itsBest) ? bests.filter((each) => isNumber(each) && (experiment.objective!.mode === "min" ? each < itsBest : each > itsBest)).length + 1 : null;
  return (
    <main>
      <nav class="trial"><a href={linkTo({ experiment: at, trial: null })}>all trials</a>
        {trial > 0 && <a href={linkTo({ experiment: at, trial: trial - 1 })} rel="prev">{experiment.id(trial - 1)}</a>}
        {trial + 1 < experiment.count && <a href={linkTo({ experiment: at, trial: trial + 1 })} rel="next">{experiment.id(trial + 1)}</a>}
        {best !== null && best !== trial && <a href={linkTo({ experiment: at, trial: best })}>the best one</a>}
      </nav>
      <h1>{experiment.id(trial)}</h1>
      <p class="lead">
        <span class={"end " + experiment.endOf(trial).toLowerCase()}>{experiment.endOf(trial)}</span>
        {field("ended_by") && ` by ${field("ended_by")}`}{field("paused_by") && ` by ${field("paused_by")}`} at iteration {experiment.iteration(trial)}{field("why") && `: ${field("why")}`}.
        {Number.isFinite(experiment.number(trial, "best")) && ` Its best ${experiment.objective?.metric ?? ""} is ${short(experiment.number(trial, "best"))}${field("best_iteration") && `, of iteration ${experiment.iteration(trial, "best_iteration")}`}${choice.which === "best" && rank !== null ? `: place ${rank.toLocaleString("en-US")} of ${experiment.count.toLocaleString("en-US")}` : ""}.`}
      </p>
      {live && <Steering live={live} experiment={experiment} trial={trial} />}
      {field("error") && field("error") !== field("why") && <p class="notice">{field("error")}</p>}
      <dl class="facts">
        <div><dt>started</dt><dd>{moment(experiment.number(trial, "started")) || "not yet"}</dd></div>
        <div><dt>ended</dt><dd>{moment(experiment.number(trial, "ended")) || "not yet"}</dd></div>
        <div><dt>in training</dt><dd>{duration(experiment.number(trial, "time_total_s"))}</dd></div>
        <div><dt>ran on</dt><dd>{field("node") || "nothing yet"}{field("gpus") && `, GPU ${field("gpus")}`}</dd></div>
        <div><dt>attempts</dt><dd>{field("attempt")}, {count(experiment.number(trial, "failures") || 0, "failure")}</dd></div>
        {field("notes") && <div><dt>notes</dt><dd>{field("notes")}</dd></div>}
      </dl>
      {experiment.objective && (curve
        ? <section><h2>Curve</h2><Picture height={320} of={[trial, choice, choice.kept]} open={open} draw={(size) => curves(experiment, size, choice.kept, cutoffsOf(experiment), trial)}
          rows={() => ({ count: curve.iterations.length, columns: [{ title: "iteration", value: (i) => curve.iterations[i]! }, { title: curve.min ? "last" : experiment.objective!.metric, value: (i) => curve.last[i]! }, ...(curve.min && curve.max ? [{ title: "min", value: (i: number) => curve.min![i]! }, { title: "max", value: (i: number) => curve.max![i]! }] : []), ...(curve.since > 0 ? [{ title: "of a donor", value: (i: number) => curve.iterations[i]! <= curve.since ? "yes" : "" }] : [])] })}>
          <p class="hint">{curve.min ? `Each point stands for neighbours among its ${count(curve.results, "result")}: the last of them, with the least and the most as bars.` : `All of its ${count(curve.results, "result")}`}{curve.since > 0 && `, and, dashed, those of the trials that its model was until iteration ${curve.since}`}. Behind it the curves of {raw.curves!.which}.</p>
        </Picture></section>
        : <p class="notice">{Number.isFinite(experiment.number(trial, "best")) ? <>Its curve is not among those in this file ({raw.curves?.which}): <code>{`tune show ${words}`}</code></> : "It has reported no number for the metric."}</p>)}
      {steps.length > 1 && <section><h2>What its model went through</h2><div class="table"><table>
        <thead><tr><th>from</th><th>to</th><th>as</th>{changed.map((name) => <th key={name}>{name}</th>)}</tr></thead>
        <tbody>{steps.map((step, i) => <tr key={i}><td class="number">{iterationText(step.from, step.from_is_guess)}</td><td class="number">{iterationText(step.to, step.to_is_guess)}</td><td><a href={linkTo({ experiment: at, trial: experiment.trialOf(step.trial_id) })}>{step.trial_id}</a></td>{changed.map((name) => <td key={name}>{textOf(valueIn(step.config, name))}</td>)}</tr>)}</tbody>
      </table></div></section>}
      <section><h2>Config</h2><div class="table"><table>
        <thead><tr><th>hyperparameter</th><th>value</th>{best !== null && best !== trial && <th>of the best, {experiment.id(best)}</th>}</tr></thead>
        <tbody>{configs.map((column) => {
          const other = best !== null && best !== trial ? textOf(column.values[best]) : null;
          return <tr key={column.name} class={other !== null && other !== textOf(column.values[trial]) ? "differs" : undefined}><td>{shortName(column.name)}</td><td>{textOf(column.values[trial])}</td>{other !== null && <td>{other}</td>}</tr>;
        })}</tbody>
      </table></div></section>
      {metrics.length > 0 && <section><h2>Last metrics</h2><div class="table"><table>
        <tbody>{metrics.map((column) => <tr key={column.name}><td>{column.name}</td><td>{textOf(column.values[trial])}</td></tr>)}</tbody>
      </table></div></section>}
      {judged.length > 0 && <section><h2>Judgements</h2><ul>{judged.map((i) => {
        const [score, cutoff] = [numberOf(raw.judgements.score[i]), numberOf(raw.judgements.cutoff[i])];
        return <li key={i}>At {raw.judgements.rung[i]}: {short(score)}{Number.isFinite(cutoff) ? `, cutoff ${short(cutoff)}` : ", without a cutoff yet"}. It {raw.judgements.went_on[i] ? "went on" : "went no further, or had to wait"}.</li>;
      })}</ul></section>}
      {attempts.length > 0 && <section><h2>Attempts</h2><div class="table"><table>
        <thead><tr><th>attempt</th><th>start</th><th>took</th><th>node</th><th>gpus</th><th>from checkpoint</th><th>outcome</th><th>reason</th></tr></thead>
        <tbody>{attempts.map((each) => <tr key={each.attempt}><td class="number">{each.attempt}</td><td>{moment(each.start)}</td><td>{each.end === null ? "" : duration(each.end - each.start)}</td><td>{each.node}</td><td>{each.gpus}</td><td>{each.restored || ""}</td><td>{each.outcome || "no end is recorded"}</td><td class="long">{each.reason}</td></tr>)}</tbody>
      </table></div></section>}
      {tally >= 0 && <section><h2>Checkpoints</h2>
        <p>{made.made[tally]} made, {made.dropped[tally]} dropped since, {made.failed[tally]} failed, {made.damaged[tally]} damaged.</p></section>}
      {own.length > 0 && kept && <section aria-label="checkpoints that are kept"><div class="table"><table>
        <thead><tr><th>checkpoint</th><th>iteration</th><th>score</th><th>rank</th><th>bytes</th><th>where</th><th>path</th></tr></thead>
        <tbody>{own.map((i) => <tr key={i}><td class="number">{kept.index[i]}</td><td class="number">{iterationText(kept.training_iteration[i]!, kept.is_guess[i])}</td><td class="number">{textOf(kept.score[i])}</td><td class="number">{kept.rank[i] ?? ""}</td><td class="number">{kept.bytes[i]}</td><td>{kept.where[i]}{kept.is_latest[i] ? ", latest" : ""}{kept.is_pinned[i] ? ", pinned" : ""}</td><td><code>{kept.path[i]}</code></td></tr>)}</tbody>
      </table></div></section>}
      <section><h2>What it printed</h2>
        {live && <LiveLogs live={live} trial={trial} />}
        {!live && logs.length === 0 && <p>No output is in this file: <code>{`tune logs ${words}`}</code></p>}
        {!live && logs.map((log, i) => <div key={i}><h3>{log.stream}{log.left_out > 0 && `, without the ${log.left_out.toLocaleString("en-US")} bytes before`}</h3><pre tabIndex={0}>{log.text}</pre></div>)}
      </section>
      <section><h2>To look further</h2><pre tabIndex={0}>{`tune show ${words}\ntune logs ${words} --stderr${best !== null && best !== trial ? `\ntune compare ${shellWord(raw.directory)} ${trial} ${best}` : ""}`}</pre></section>
    </main>
  );
}
