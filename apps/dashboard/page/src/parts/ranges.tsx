// The ranges of the parallel coordinates as fields, so that they need no pointer.
import type { Axis } from "../figures/parallel";
import { shortName } from "../figures/parallel";
import type { Choice } from "../store";

function Field({ choice, axis }: { choice: Choice; axis: Axis }) {
  const range = choice.brush.get(axis.name);
  const name = shortName(axis.name);
  if (axis.words) {
    const words = axis.words;
    const whole = words.length > 0 ? [0, words.length - 1] as const : [0, 0] as const;
    const set = (from: number, to: number) => choice.setRange(axis.name, from <= whole[0] && to >= whole[1] ? null : [Math.min(from, to), Math.max(from, to)]);
    return (
      <fieldset>
        <legend>{name}</legend>
        <select aria-label={`${name} from`} value={range?.[0] ?? 0} onChange={(event) => set(Number(event.currentTarget.value), range?.[1] ?? whole[1])}>
          {words.map((word, i) => <option key={i} value={i}>{word}</option>)}
        </select>{" to "}
        <select aria-label={`${name} to`} value={range?.[1] ?? whole[1]} onChange={(event) => set(range?.[0] ?? 0, Number(event.currentTarget.value))}>
          {words.map((word, i) => <option key={i} value={i}>{word}</option>)}
        </select>
      </fieldset>
    );
  }
  const set = (at: 0 | 1, text: string) => {
    const value = text.trim() === "" ? (at === 0 ? -Infinity : Infinity) : Number(text);
    if (Number.isNaN(value)) return;
    const next: [number, number] = [range?.[0] ?? -Infinity, range?.[1] ?? Infinity];
    next[at] = value;
    choice.setRange(axis.name, next[0] === -Infinity && next[1] === Infinity ? null : next);
  };
  const text = (value: number | undefined) => value === undefined || !Number.isFinite(value) ? "" : String(Number(value.toPrecision(6)));
  return (
    <fieldset>
      <legend>{name}</legend>
      <input type="text" inputMode="decimal" aria-label={`${name} from`} placeholder="from" value={text(range?.[0])} onChange={(event) => set(0, event.currentTarget.value)} />{" to "}
      <input type="text" inputMode="decimal" aria-label={`${name} to`} placeholder="to" value={text(range?.[1])} onChange={(event) => set(1, event.currentTarget.value)} />
    </fieldset>
  );
}

export function Ranges({ choice }: { choice: Choice }) {
  return (
    <details class="ranges">
      <summary>ranges and axes as fields</summary>
      <div>{choice.axes.map((axis) => <Field key={axis.name} choice={choice} axis={axis} />)}</div>
      {choice.all.length > 4 && <fieldset class="axes">
        <legend>axes</legend>
        {choice.all.map((axis) => (
          <label key={axis.name}><input type="checkbox" checked={choice.axisNames.includes(axis.name)} onChange={(event) => choice.setAxis(axis.name, event.currentTarget.checked)} /> {shortName(axis.name)}</label>
        ))}
      </fieldset>}
    </details>
  );
}
