// Where trials fail: along one hyperparameter, or two.
import type { Experiment } from "../data";
import { category, axes, inside, linear, logarithmic, rangeOf, scaleOf, type Scale } from "./axes";
import { axisOf, shortName, type Axis } from "./parallel";
import type { Drawing, Mark, Size } from "./drawing";

function scaleFor(axis: Axis, from: number, to: number, wanted: number): Scale {
  if (axis.words) return category(axis.words, from, to);
  const domain = axis.domain;
  if (domain && domain.lower !== null && domain.upper !== null) {
    return domain.log ? logarithmic(domain.lower, domain.upper, from, to, wanted) : linear(domain.lower, domain.upper, from, to, wanted);
  }
  const range = rangeOf(axis.values);
  return range ? scaleOf(range, from, to, wanted) : linear(0, 1, from, to);
}

/** `names`: one or two hyperparameters, without "config.". */
export function region(experiment: Experiment, size: Size, names: string[]): Drawing {
  const found = names.map((name) => experiment.hyperparameters.find((each) => shortName(each.domain.name) === name)).filter((each) => each !== undefined);
  const first = found[0];
  if (!first) return { marks: [], sentence: "" };
  // One alone is drawn against the next hyperparameter there is.
  const second = found[1] ?? experiment.hyperparameters.find((each) => each !== first) ?? first;
  const [a, b] = [axisOf(first.column, first.domain), axisOf(second.column, second.domain)];
  const box = inside(size);
  const [x, y] = [scaleFor(a, box.left, box.right, size.width / 90), scaleFor(b, box.bottom, box.top, 5)];
  const marks: Mark[] = axes(box, x, y, { x: shortName(a.name), y: shortName(b.name) });
  let failed = 0;
  for (const isFailed of [false, true]) {
    for (let i = 0; i < experiment.count; ++i) {
      if ((experiment.endOf(i) === "failed") !== isFailed) continue;
      failed += isFailed ? 1 : 0;
      const spread = ((i * 0.618) % 1 - 0.5) * 0.6;
      const [px, py] = [x.at(a.values[i]! + (a.words ? spread : 0)), y.at(b.values[i]! + (b.words ? spread : 0))];
      if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
      marks.push({ kind: "dot", x: px, y: py, r: isFailed ? 3.5 : 2.5, ink: isFailed ? "bad" : "muted", alpha: isFailed ? 1 : 0.4, hollow: isFailed, of: { trial: i, said: () => `${experiment.id(i)}: ${isFailed ? experiment.text(i, "error") || "failed" : experiment.endOf(i)}` } });
    }
  }
  return { marks, sentence: `${failed} failed trials as red circles among ${experiment.count}, by ${shortName(a.name)} and ${shortName(b.name)}.` };
}
