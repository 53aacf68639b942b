// The page's connection to its server: the report of one experiment, kept up to date by a stream.
// Whatever is lost is asked for anew.
import { Experiment, Unreadable, isExperiment, readJson, readReport, type Cell, type LiveStatus } from "./data";

/** Of an experiment in the list. */
export interface Summary {
  directory: string; problem: string; name?: string; trials?: number; total_trials?: number | null;
  states?: { [state: string]: number }; ends?: { [end: string]: number };
  best?: { metric: string; value: Cell; trial_id: string } | null; session_end?: string; is_driven?: boolean;
}

export interface Frame { event: number; status: LiveStatus | null; columns: string[]; rows: Cell[][]; more: boolean }

/** Takes text as it comes, and answers with the events that are whole. */
export class EventParser {
  private rest = "";
  take(text: string): { kind: string; data: string }[] {
    this.rest += text;
    const parts = this.rest.split("\n\n");
    this.rest = parts.pop()!;
    return parts.map((part) => {
      const field = (name: string) => part.split("\n").find((line) => line.startsWith(name + ": "))?.slice(name.length + 2) ?? "";
      return { kind: field("event"), data: field("data") };
    });
  }
}

/** The newest row of each trial. */
export function mergeFrames(frames: Frame[]): Frame | null {
  const last = frames[frames.length - 1];
  if (!last) return null;
  const at = last.columns.indexOf("trial_id");
  const rows = new Map<Cell, Cell[]>();
  // The columns may have grown; what has fewer comes again.
  for (const frame of frames) if (frame.columns.length === last.columns.length) for (const row of frame.rows) rows.set(row[at] ?? null, row);
  return { ...last, rows: [...rows.values()] };
}

/** The newest rows that a stream has told. A whole report may be older than some of them: it takes a while to make, and pages share it. */
export class Recent {
  private rows = new Map<Cell, { event: number; row: Cell[] }>();
  private last: Frame | null = null;
  add(frame: Frame): void {
    // The columns have grown: what has fewer cannot be told apart any more.
    if (this.last?.columns.length !== frame.columns.length) this.rows.clear();
    this.last = frame;
    const at = frame.columns.indexOf("trial_id");
    for (const row of frame.rows) this.rows.set(row[at] ?? null, { event: frame.event, row });
  }
  clear(): void { this.rows.clear(); this.last = null; }
  /** The report with what is newer than it; the rest is forgotten. */
  over(report: Experiment): Experiment {
    const event = report.raw.status.events;
    for (const [trial, each] of this.rows) if (each.event <= event) this.rows.delete(trial);
    if (!this.last || this.last.event <= event) return report;
    return report.withRows(this.last.columns, [...this.rows.values()].map((each) => each.row), this.last.status);
  }
}

const tokenKey = "tune-token";

/** Takes the token out of the address, where it would stay in the history and in screenshots. */
export async function takeToken(): Promise<void> {
  const found = /^#(token|start)=([0-9a-f]{1,128})$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname);
  if (found[1] === "token") return sessionStorage.setItem(tokenKey, found[2]!);
  const answer = await fetch("api/start", { method: "POST", body: "{}", headers: { Authorization: `Bearer ${found[2]}`, "Content-Type": "application/json" } });
  if (answer.ok) sessionStorage.setItem(tokenKey, ((await answer.json()) as { token: string }).token);
}

/** The server has answered, and refuses. */
class Refused extends Error {}

const delay = (ms: number, signal?: AbortSignal) => new Promise<void>((done) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); done(); });
});

/** Nothing for so long, not even a ping: the server is gone, or the way to it. */
const silenceMs = 40_000;
const shortestRestMs = 250, shortestReloadMs = 2_000, longestResetMs = 10_000;
/** The page is busy with what is new for at most so much of the time. */
const restFactor = 10;

export class Live {
  summaries: Summary[] = [];
  allowsControl = false;
  version = "";
  at = 0;
  experiment: Experiment | Unreadable | null = null;
  /** What is wrong with the connection or the experiment; empty: nothing. */
  trouble = "";
  /** When the data were read last, Unix time. */
  made = 0;
  private since = 0;
  private frames: Frame[] = [];
  private readonly recent = new Recent();
  private abort = new AbortController();
  private applying = false;
  private reloading = false;
  private reloadTookMs = 0;

  constructor(private readonly changed: () => void) {}

  begin(at: number): void {
    this.at = at;
    this.experiment = null;
    this.restart();
    void this.watchList();
    document.addEventListener("visibilitychange", () => {
      // A browser has six connections to a server: a page that nobody sees needs none.
      if (document.hidden) this.abort.abort(); else this.restart();
    });
  }
  show(at: number): void {
    if (at === this.at) return;
    this.at = at;
    this.experiment = null;
    this.restart();
    this.changed();
  }

  async ask(path: string, given: RequestInit = {}): Promise<string> {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem(tokenKey) ?? ""}`, ...(given.body ? { "Content-Type": "application/json" } : {}) };
    const answer = await fetch(`api/${path}`, { ...given, headers, cache: "no-store" });
    const text = await answer.text();
    if (!answer.ok) throw new Refused(textOfError(text));
    return text;
  }
  async log(trial: number, stream: "stdout" | "stderr"): Promise<{ text: string; left_out: number }> {
    return readJson(await this.ask(`e/${this.at}/trials/${trial}/log?stream=${stream}`)) as unknown as { text: string; left_out: number };
  }
  /** Answers with the driver's sentence; throws with the one why not. */
  async control(wish: { [name: string]: Cell }): Promise<string> {
    return (readJson(await this.ask(`e/${this.at}/control`, { method: "POST", body: JSON.stringify(wish) })) as { message: string }).message;
  }

  private restart(): void {
    this.abort.abort();
    this.abort = new AbortController();
    this.forget();
    void this.follow(this.abort.signal);
  }

  private forget(): void {
    this.frames = [];
    this.recent.clear();
    this.since = 0;
  }

  private async watchList(): Promise<void> {
    for (;;) {
      if (!document.hidden) {
        try {
          const list = readJson(await this.ask("experiments")) as unknown as { version: string; allows_control: boolean; experiments: Summary[] };
          [this.summaries, this.allowsControl, this.version] = [list.experiments, list.allows_control, list.version];
          this.changed();
        } catch { /* the stream says what is wrong */ }
      }
      await delay(5_000);
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let waitMs = 500;
    while (!signal.aborted) {
      try {
        await this.reload(signal);
        await this.stream(signal);
        this.forget();
        waitMs = 500;
        // With very many changes, one reset may follow the other.
        await delay(Math.min(longestResetMs, Math.max(shortestRestMs, restFactor * this.reloadTookMs)), signal);
      } catch (error) {
        if (signal.aborted) return;
        const isOver = this.experiment instanceof Experiment && !this.experiment.raw.status.driver;
        this.say(error instanceof Refused ? `${error.message}.` : isOver ? "The driver and this page's server have ended. This page shows what it knew last."
          : "The server does not answer any more. This page shows what it knew last, and tries again.");
        await delay(waitMs, signal);
        waitMs = Math.min(5_000, 2 * waitMs);
      }
    }
  }

  private say(trouble: string): void {
    if (trouble === this.trouble) return;
    this.trouble = trouble;
    this.changed();
  }

  private async reload(signal: AbortSignal): Promise<void> {
    const begin = performance.now();
    const report = readReport(await this.ask(`e/${this.at}/report`, { signal }));
    if (signal.aborted) return;
    const next = report.experiments[0]!;
    this.made = report.made;
    if (isExperiment(next)) {
      this.experiment = this.recent.over(next);
      this.since = Math.max(this.since, next.raw.status.events);
      this.trouble = "";
    } else {
      // What was seen of it is better than nothing.
      this.experiment ??= next;
      this.trouble = next.problem;
    }
    this.reloadTookMs = performance.now() - begin;
    this.changed();
  }

  /** Ends when all is to be read anew; throws when the server is gone. */
  private async stream(signal: AbortSignal): Promise<void> {
    const own = new AbortController();
    const stop = () => own.abort();
    signal.addEventListener("abort", stop);
    let silence = setTimeout(stop, silenceMs);
    try {
      const answer = await fetch(`api/e/${this.at}/stream?since=${this.since}`, {
        signal: own.signal, cache: "no-store", headers: { Authorization: `Bearer ${sessionStorage.getItem(tokenKey) ?? ""}` },
      });
      if (!answer.ok || !answer.body) throw new Refused(textOfError(await answer.text()));
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error("the stream has ended");
        clearTimeout(silence);
        silence = setTimeout(stop, silenceMs);
        for (const { kind, data } of parser.take(value)) {
          if (kind === "reset") return;
          if (kind === "gone") this.say((readJson(data) as { problem: string }).problem);
          if (kind === "rows") this.take(readJson(data) as unknown as Frame, signal);
        }
      }
    } finally {
      clearTimeout(silence);
      own.abort();
      signal.removeEventListener("abort", stop);
    }
  }

  private take(frame: Frame, signal: AbortSignal): void {
    if (!frame.more) this.since = frame.event;
    this.frames.push(frame);
    this.recent.add(frame);
    if (!this.applying) void this.apply(signal);
    if (!this.reloading) void this.reloadLater(signal);
  }

  private async apply(signal: AbortSignal): Promise<void> {
    this.applying = true;
    const begin = performance.now();
    const newest = mergeFrames(this.frames);
    this.frames = [];
    if (newest && this.experiment instanceof Experiment) {
      this.experiment = this.experiment.withRows(newest.columns, newest.rows, newest.status);
      this.made = Date.now() / 1000;
      this.trouble = "";
      this.changed();
    }
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await delay(Math.max(shortestRestMs, restFactor * (performance.now() - begin)), signal);
    this.applying = false;
    if (!signal.aborted && this.frames.length > 0) void this.apply(signal);
  }

  /** Pictures that rows do not change, and findings, come with the whole. */
  private async reloadLater(signal: AbortSignal): Promise<void> {
    this.reloading = true;
    await delay(Math.max(shortestReloadMs, restFactor * this.reloadTookMs), signal);
    try {
      if (!signal.aborted) await this.reload(signal);
    } catch { /* the stream says what is wrong */ }
    this.reloading = false;
  }
}

function textOfError(text: string): string {
  try {
    return String((readJson(text) as { error: string }).error);
  } catch {
    return "the server answers what is none of its answers";
  }
}
