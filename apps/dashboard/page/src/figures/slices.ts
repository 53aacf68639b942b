// The metric along one hyperparameter: a dot for each trial, with median and quartiles of parts.
import type { Experiment, Slice } from "../data";
import { numberOf, textOf } from "../data";
import { short } from "../format";
import { axes, category, clamp, inside, linear, logarithmic, rangeOf, scaleOf } from "./axes";
import { axisOf, shortName } from "./parallel";
import type { Drawing, Mark, Size } from "./drawing";

export function slice(experiment: Experiment, name: string, good: Float64Array, kept: Uint8Array, size: Size, found: Slice | undefined): Drawing {
  const parameter = experiment.hyperparameters.find((each) => each.domain.name === name);
  const best = experiment.column("best");
  const objective = experiment.objective;
  const range = best && rangeOf(best.numbers);
  if (!parameter || !best || !objective || !range) return { marks: [], sentence: "Nothing to show." };
  const axis = axisOf(parameter.column, parameter.domain);
  const box = inside(size, { left: 56, top: 8 });
  const { lower, upper, log } = parameter.domain;
  const own = lower !== null && upper !== null ? { low: lower, high: upper, isLog: log, beyond: 0 } : rangeOf(axis.values) ?? { low: 0, high: 1, isLog: false, beyond: 0 };
  const wanted = size.width / 80;
  const x = axis.words ? category(axis.words, box.left, box.right)
    : own.isLog ? logarithmic(own.low, own.high, box.left, box.right, wanted) : linear(own.low, own.high, box.left, box.right, wanted);
  const y = scaleOf(range, box.bottom, box.top, 4);
  const marks: Mark[] = axes(box, x, y, { x: shortName(name), y: "" });
  for (const bin of found?.bins ?? []) {
    const place = axis.words ? axis.words.indexOf(textOf(bin.lower)) : -1;
    const ends = axis.words ? [x.at(place - 0.4), x.at(place + 0.4)]
      : [bin.lower === null ? box.left : x.at(numberOf(bin.lower)), bin.upper === null ? box.right : x.at(numberOf(bin.upper))];
    const [a, b] = [clamp(ends[0]!, box.left, box.right), Math.max(clamp(ends[1]!, box.left, box.right), clamp(ends[0]!, box.left, box.right) + 2)];
    const [q1, q3, median] = [bin.lower_quartile, bin.upper_quartile, bin.median].map((each) => clamp(y.at(numberOf(each)), box.top, box.bottom));
    if (!Number.isFinite(median)) continue;
    marks.push({ kind: "rect", x: a, y: Math.min(q1!, q3!), w: b - a - 1, h: Math.max(1, Math.abs(q1! - q3!)), ink: "band", alpha: 0.5 });
    marks.push({ kind: "path", points: [a, median!, b - 1, median!], ink: "accent", width: 2 });
  }
  const many = axis.values.length > 2000;
  for (let i = 0; i < axis.values.length; ++i) {
    // Trials of one word side by side, by their numbers: the same picture each time.
    const spread = axis.words ? ((i * 0.618) % 1 - 0.5) * 0.6 : 0;
    const [px, py] = [x.at(axis.values[i]! + spread), y.at(best.numbers[i]!)];
    if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
    marks.push({
      kind: "dot", x: px, y: clamp(py, box.top, box.bottom), r: many ? 1.3 : 2.5, ink: good[i]!, alpha: kept[i] ? (many ? 0.5 : 0.8) : 0.06,
      of: { trial: i, said: () => `${experiment.id(i)}: ${shortName(name)} ${parameter.column.values[i] === null ? "" : textOf(parameter.column.values[i])}, best ${short(best.numbers[i]!)}` },
    });
  }
  return { marks, sentence: found ? found.direction : `${objective.metric} along ${shortName(name)}.` };
}
