// Reads the report that stands in the page, or asks a server for it, and shows where the fragment
// points.
import { render } from "preact";
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import { isExperiment, readReport, type Report } from "./data";
import { moment } from "./format";
import { Live, takeToken } from "./live";
import { Experiments } from "./pages/experiments";
import { LiveExperiments, LiveFooter, LiveState } from "./pages/live";
import { Overview } from "./pages/overview";
import { TrialPage } from "./pages/trial";
import { Store, linkTo, useRoute } from "./store";

function Page({ report }: { report: Report }) {
  const store = useMemo(() => new Store(report), [report]);
  const route = useRoute();
  const first = report.experiments.findIndex(isExperiment);
  const at = store.choice(route.experiment) ? route.experiment : first;
  const choice = store.choice(at);
  const open = (trial: number) => { location.hash = linkTo({ experiment: at, trial }); };
  useEffect(() => {
    scrollTo(0, 0);
    document.title = choice ? `${route.trial !== null ? `trial ${route.trial} of ` : ""}${choice.experiment.raw.status.name}` : "tune report";
  }, [at, route.trial]);
  return (
    <>
      {report.experiments.length > 1 && <Experiments report={report} at={at} />}
      {!choice ? <main><p>{report.experiments.map((each) => isExperiment(each) ? "" : each.problem).join("; ")}</p></main>
        : route.trial !== null ? <TrialPage key={`${at}/${route.trial}`} choice={choice} at={at} trial={route.trial} open={open} />
        : <Overview key={at} choice={choice} at={at} open={open} />}
      <footer>Written on {moment(report.made)} by tune {report.version}. This file needs no network.</footer>
    </>
  );
}

/** The same from a server: each newer report takes the place of the one before. */
function LivePage() {
  const [, again] = useReducer((n: number) => n + 1, 0);
  const live = useMemo(() => new Live(() => again(0)), []);
  const stores = useRef<Store | null>(null);
  const route = useRoute();
  const at = route.experiment;
  useEffect(() => live.begin(at), []);
  useEffect(() => live.show(at), [at]);
  const experiment = live.experiment;
  const report = useMemo((): Report => {
    const experiments: Report["experiments"] = [];
    if (experiment) experiments[live.at] = experiment;
    return { version: live.version, made: live.made, experiments };
  }, [experiment, live.at]);
  const store = useMemo(() => (stores.current = new Store(report, stores.current)), [report]);
  const choice = live.at === at ? store.choice(at) : null;
  const name = choice?.experiment.raw.status.name;
  useEffect(() => { scrollTo(0, 0); }, [at, route.trial]);
  useEffect(() => { document.title = name ? `${route.trial !== null ? `trial ${route.trial} of ` : ""}${name}` : "tune dashboard"; }, [name, route.trial]);
  const open = (trial: number) => { location.hash = linkTo({ experiment: at, trial }); };
  return (
    <>
      {live.summaries.length > 1 && <LiveExperiments live={live} />}
      <LiveState live={live} />
      {choice && (route.trial !== null ? <TrialPage key={`${at}/${route.trial}`} choice={choice} at={at} trial={route.trial} open={open} live={live} />
        : <Overview key={at} choice={choice} at={at} open={open} live={live} />)}
      <LiveFooter live={live} />
    </>
  );
}

const text = document.getElementById("report")?.textContent ?? "";
const page = document.getElementById("page")!;
// A report is an object with experiments; a server has put this in its place.
if (text === '{"live":true}') void takeToken().then(() => render(<LivePage />, page));
else render(<Page report={readReport(text)} />, page);
