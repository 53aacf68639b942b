// Which hyperparameters matter: bars, with where each is good.
import type { Experiment } from "../data";
import type { Drawing, Mark, Size } from "./drawing";

export const importanceRow = 40;

export function importance(experiment: Experiment, size: Size): Drawing {
  const found = experiment.raw.importance;
  if (!found) return { marks: [], sentence: experiment.raw.importance_problem };
  const rows = found.importances.map((each) => ({ name: each.name, share: each.importance, direction: experiment.raw.slices.find((slice) => slice.name === each.name)?.direction ?? "" }));
  if (found.several_together !== null && rows.length > 1) rows.push({ name: "(several together)", share: found.several_together, direction: "" });
  const left = Math.min(160, size.width / 3);
  const room = size.width - left - 60;
  const largest = Math.max(1e-9, ...rows.map((row) => row.share));
  const marks: Mark[] = [];
  rows.forEach((row, i) => {
    const y = 6 + i * importanceRow;
    const width = (row.share / largest) * room;
    marks.push({ kind: "text", x: left - 8, y: y + 8, text: row.name, ink: "ink", anchor: "end", most: left - 10 });
    marks.push({ kind: "rect", x: left, y, w: Math.max(1, width), h: 15, ink: row.direction || i < found.importances.length ? "accent" : "muted", of: { said: () => `${row.name}: ${(100 * row.share).toFixed(1)} %. ${row.direction}` } });
    marks.push({ kind: "text", x: left + width + 6, y: y + 8, text: `${(100 * row.share).toFixed(1)} %`, ink: "ink" });
    if (row.direction) marks.push({ kind: "text", x: left, y: y + 26, text: row.direction, ink: "muted", most: size.width - left });
  });
  return {
    marks,
    sentence: `Which part of the variance of ${found.metric} each hyperparameter explains alone, by ${found.method} over ${found.trials} of ${found.candidates} trials${found.iteration === null ? "" : ` at iteration ${found.iteration}`}.`,
  };
}
