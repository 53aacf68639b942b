// The trials that the ranges have kept. A row that is chosen stands out in the pictures.
import { useMemo } from "preact/hooks";
import type { Choice } from "../store";
import { linkTo } from "../store";
import { duration } from "../format";
import { numberOf } from "../data";
import { shortName } from "../figures/parallel";
import { Rows, type RowColumn } from "./rows";

const mostParameters = 10;

function columnsOf(choice: Choice, at: number): RowColumn[] {
  const experiment = choice.experiment;
  const own = (name: string, title = name): RowColumn => ({ title, value: (row) => experiment.column(name)?.values[row] ?? null });
  const columns: RowColumn[] = [
    {
      title: "trial", value: (row) => experiment.id(row), show: (row) => <a href={linkTo({ experiment: at, trial: row })}>{experiment.id(row)}</a>,
    },
    { title: "end", value: (row) => experiment.endOf(row), show: (row) => <span class={"end " + experiment.endOf(row).toLowerCase()}>{experiment.endOf(row)}</span> },
  ];
  const objective = experiment.objective;
  if (objective) columns.push(own("best", `best ${objective.metric}`));
  const last = experiment.raw.objectives.flatMap(({ metric }): RowColumn[] => {
    const column = experiment.metricColumn(metric);
    return column ? [{ title: objective ? `last ${metric}` : metric, value: (row) => column.values[row] ?? null }] : [];
  });
  if (!objective) columns.push(...last);
  for (const { domain } of experiment.hyperparameters.slice(0, mostParameters)) columns.push(own(domain.name, shortName(domain.name)));
  columns.push({ ...own("training_iteration", "iteration"), show: (row) => experiment.iteration(row) });
  if (objective) columns.push(...last);
  columns.push({ ...own("duration_s", "duration"), show: (row) => duration(numberOf(experiment.column("duration_s")?.values[row])) });
  if (experiment.column("failures")?.numbers.some((each) => each > 0)) columns.push(own("failures"));
  return columns;
}

export function TrialsTable({ choice, at }: { choice: Choice; at: number }) {
  const experiment = choice.experiment;
  const columns = useMemo(() => columnsOf(choice, at), [choice, at]);
  const rows = useMemo(() => [...choice.kept.keys()].filter((row) => choice.kept[row] === 1), [choice.kept]);
  const mark: RowColumn = {
    title: "mark", isControl: true, value: (row) => choice.chosen.has(row) ? 0 : 1,
    show: (row) => <input type="checkbox" aria-label={`mark ${experiment.id(row)}`} checked={choice.chosen.has(row)} onChange={() => choice.toggle(row)} />,
  };
  const all = useMemo(() => [mark, ...columns], [columns, choice.chosen.size]);
  const best = all.findIndex((column) => column.title.startsWith("best "));
  const initial = best >= 0 ? [{ column: best, down: experiment.objective?.mode === "max" }] : [];
  return <Rows columns={all} count={experiment.count} rows={rows} label="trials" initial={initial} rowClass={(row) => choice.chosen.has(row) ? "chosen" : ""} />;
}
