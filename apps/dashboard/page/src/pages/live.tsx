// The page while it is connected to a server: what is said of the connection, the list of
// experiments, and what can be asked of a driver.
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { isExperiment, numberOf, type Cell, type Experiment } from "../data";
import { moment, shellWord, short } from "../format";
import type { Live, Summary } from "../live";
import { linkTo } from "../store";

function stateOf(one: Summary): string {
  if (one.problem) return one.problem;
  if (one.is_driven) return "running";
  return one.session_end === "finished" ? "finished" : one.session_end ? `left: ${one.session_end}` : "its driver has died";
}

export function LiveExperiments({ live }: { live: Live }) {
  // Of the one that is shown the page knows more than the list, which is asked for seldom.
  const shown = live.experiment && isExperiment(live.experiment) && !live.trouble ? live.experiment.raw.status : null;
  const summaries = live.summaries.map((each, i): Summary => i === live.at && shown
    ? { ...each, trials: shown.trials, ends: shown.ends, best: shown.best, session_end: shown.session_end, is_driven: shown.driver !== null, problem: "" } : each);
  return (
    <nav aria-label="experiments"><div class="table"><table>
      <thead><tr><th>experiment</th><th>state</th><th>trials</th><th>failed</th><th>best</th><th>of</th></tr></thead>
      <tbody>{summaries.map((each, i) => (
        <tr key={i} class={i === live.at ? "chosen" : undefined}>
          <td><a href={linkTo({ experiment: i, trial: null })} aria-current={i === live.at ? "page" : undefined}>{each.name ?? each.directory}</a></td>
          <td>{stateOf(each)}</td>
          <td class="number">{each.trials?.toLocaleString("en-US")}</td><td class="number">{each.ends?.failed}</td>
          <td class="number">{each.best ? short(numberOf(each.best.value)) : ""}</td><td>{each.best?.metric ?? ""}</td>
        </tr>
      ))}</tbody>
    </table></div></nav>
  );
}

/** What is the case with the driver, as a sentence. */
export function driverSentence(experiment: Experiment): string {
  const { status, directory } = experiment.raw;
  const resume = `tune resume ${shellWord(directory)}`;
  if (status.driver) return "It runs; this page follows it.";
  if (status.session_end === "finished") return "It has finished.";
  if (status.session_end) return `Its driver has left (${status.session_end}); ${resume} goes on with it.`;
  return `Its driver has died, or was killed; ${resume} goes on with it.`;
}

export function LiveState({ live }: { live: Live }) {
  const experiment = live.experiment;
  const text = live.trouble || (experiment && isExperiment(experiment) ? driverSentence(experiment) : "Asking the server.");
  return <p class={live.trouble ? "notice" : "hint"} role="status">{text}</p>;
}

export function LiveFooter({ live }: { live: Live }) {
  return <footer>From tune {live.version}, as of {moment(live.made)}.</footer>;
}

interface Wish { word: string; follows: string; wish: { [name: string]: Cell } }

function wishesOf(experiment: Experiment, trial: number | null): Wish[] {
  if (trial === null) {
    const resume = `tune resume ${shellWord(experiment.raw.directory)}`;
    return [
      { word: "save", follows: "Each running trial saves a checkpoint with its next result, and goes on.", wish: { ask: "checkpoint" } },
      { word: "pause", follows: `All running trials are saved and the driver leaves. ${resume} goes on from there.`, wish: { ask: "pause" } },
      { word: "stop", follows: `No trial is started any more. Running ones are saved with their next result and wait, and the driver leaves. ${resume} goes on.`, wish: { ask: "stop" } },
    ];
  }
  const id = experiment.id(trial);
  const state = experiment.text(trial, "state");
  const isOver = state === "TERMINATED" || state === "ERROR";
  if (isOver) return [];
  return [
    ...(state === "RUNNING" ? [{ word: "save", follows: `${id} saves a checkpoint with its next result, and goes on.`, wish: { ask: "checkpoint", trial: id } }] : []),
    experiment.text(trial, "paused_by") === "user"
      ? { word: "go on", follows: `${id} waits for its turn and goes on from its checkpoint.`, wish: { ask: "unpause", trial: id } }
      : { word: "pause", follows: `${id} is saved with its next result and waits until somebody lets it go on; another one runs in its place.`, wish: { ask: "pause", trial: id } },
    { word: "stop", follows: `${id} ends with its next result. It stays so, also when the experiment is resumed.`, wish: { ask: "stop", trial: id } },
  ];
}

/** Nothing is asked of a driver before it was said what follows. */
export function Steering({ live, experiment, trial }: { live: Live; experiment: Experiment; trial: number | null }) {
  const [chosen, choose] = useState<Wish | null>(null);
  const [said, say] = useState("");
  const config = useRef<HTMLTextAreaElement>(null);
  const confirm = useRef<HTMLButtonElement>(null);
  useEffect(() => { if (chosen) confirm.current?.focus(); }, [chosen]);
  if (!live.allowsControl) return null;
  // What the driver has said stays when it has left.
  if (!experiment.raw.status.driver) return <p aria-live="polite" class="hint">{said}</p>;
  const ask = async (wish: Wish) => {
    choose(null);
    say(`Asked to ${wish.word}.`);
    try {
      say(await live.control(wish.wish));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  const addConfig = () => {
    try {
      const wanted = JSON.parse(config.current!.value) as Cell;
      choose({ word: "add", follows: `A trial with ${JSON.stringify(wanted)} runs next; what it leaves out is drawn.`, wish: { ask: "add", config: wanted } });
    } catch {
      say('A config is a JSON object like {"lr": 0.01}.');
    }
  };
  return (
    <section aria-label="steer" class="controls">
      {wishesOf(experiment, trial).map((wish) => <button key={wish.word} type="button" onClick={() => { say(""); choose(wish); }}>{wish.word}{trial === null ? " all" : ""}</button>)}
      {trial === null && <details><summary>add a config</summary>
        <textarea ref={config} rows={2} aria-label="config" placeholder='{"lr": 0.01}' />
        <button type="button" onClick={addConfig}>add it</button>
      </details>}
      {chosen && <div role="alertdialog" aria-label={`confirm ${chosen.word}`} class="notice" onKeyDown={(event) => { if (event.key === "Escape") choose(null); }}>
        <p>{chosen.follows}</p>
        <button ref={confirm} type="button" onClick={() => void ask(chosen)}>yes, {chosen.word}</button>{" "}
        <button type="button" onClick={() => choose(null)}>no</button>
      </div>}
      <p aria-live="polite" class="hint">{said}</p>
    </section>
  );
}

/** The ends of both logs, read again while somebody looks at them. */
export function LiveLogs({ live, trial }: { live: Live; trial: number }) {
  const logs = useRef<{ stream: string; text: string; left_out: number }[]>([]);
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    let isOver = false;
    const look = async () => {
      while (!isOver) {
        try {
          const both = await Promise.all((["stdout", "stderr"] as const).map(async (stream) => ({ stream, ...await live.log(trial, stream) })));
          if (!isOver) { logs.current = both.filter((each) => each.text !== ""); again(0); }
        } catch { /* the stream says what is wrong */ }
        await new Promise((done) => setTimeout(done, 3_000));
      }
    };
    void look();
    return () => { isOver = true; };
  }, [live, trial]);
  if (logs.current.length === 0) return <p>It has printed nothing.</p>;
  return <>{logs.current.map((log) => <div key={log.stream}><h3>{log.stream}{log.left_out > 0 && `, without the ${log.left_out.toLocaleString("en-US")} bytes before`}</h3><pre tabIndex={0}>{log.text}</pre></div>)}</>;
}
