// Reads the report that stands in the page, and shows where the fragment points.
import { render } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { isExperiment, readReport, type Report } from "./data";
import { moment } from "./format";
import { Experiments } from "./pages/experiments";
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

const text = document.getElementById("report")?.textContent ?? "";
render(<Page report={readReport(text)} />, document.getElementById("page")!);
