// A table that can be sorted by several columns, a page of rows at a time.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Cell } from "../data";
import { isNumber, numberOf, textOf } from "../data";
import { short } from "../format";

export interface RowColumn {
  title: string;
  /** By row. Numbers are shown with six digits, and have all of them as their title. */
  value: (row: number) => Cell;
  show?: ((row: number) => ComponentChildren) | undefined;
  /** For choosing, and no part of the data. */
  isControl?: boolean;
}
export interface RowsOf { columns: RowColumn[]; count: number; label?: string; rowClass?: ((row: number) => string) | undefined; initial?: { column: number; down: boolean }[] }

const pageLength = 12;

function compare(a: Cell, b: Cell): number {
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return textOf(a) < textOf(b) ? -1 : textOf(a) > textOf(b) ? 1 : 0;
}
/** What is missing, or no finite number, comes last whichever way the rest is sorted. */
function isMissing(cell: Cell): boolean {
  return cell === null || cell === "" || cell === "NaN" || cell === "Infinity" || cell === "-Infinity";
}

export interface Sort { column: number; down: boolean }

export function order(columns: RowColumn[], rows: number[], sorts: Sort[]): number[] {
  if (sorts.length === 0) return rows;
  const keys = sorts.map(({ column }) => new Map(rows.map((row) => [row, columns[column]!.value(row)])));
  return [...rows].sort((a, b) => {
    for (let i = 0; i < sorts.length; ++i) {
      const [x, y] = [keys[i]!.get(a)!, keys[i]!.get(b)!];
      const [isX, isY] = [isMissing(x), isMissing(y)];
      if (isX !== isY) return isX ? 1 : -1;
      const by = isX ? 0 : compare(x, y);
      if (by !== 0) return sorts[i]!.down ? -by : by;
    }
    return a - b;
  });
}

/** As spreadsheets read it, with all digits. */
export function csvOf(columns: RowColumn[], rows: number[]): string {
  const cell = (value: Cell) => {
    const text = textOf(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map((column) => cell(column.title)), ...rows.map((row) => columns.map((column) => cell(column.value(row))))]
    .map((cells) => cells.join(",") + "\n").join("");
}

/** To be copied, which needs no right that a file may lack. Made when somebody opens it. */
function Csv({ columns, rows }: { columns: RowColumn[]; rows: number[] }) {
  const [isOpen, set] = useState(false);
  return (
    <details onToggle={(event) => set((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>as CSV, with all digits</summary>
      {isOpen && <textarea readOnly rows={8} aria-label="CSV" value={csvOf(columns, rows)} onFocus={(event) => event.currentTarget.select()} />}
    </details>
  );
}

export function Rows({ columns, count, label, rowClass, initial, rows }: RowsOf & { rows?: number[] }) {
  const [sorts, setSorts] = useState<Sort[]>(initial ?? []);
  const [wanted, setPage] = useState(0);
  const all = useMemo(() => rows ?? Array.from({ length: count }, (_, i) => i), [rows, count]);
  const sorted = useMemo(() => order(columns, all, sorts), [all, sorts, columns]);
  const pages = Math.max(1, Math.ceil(sorted.length / pageLength));
  const page = Math.min(wanted, pages - 1);
  const shown = sorted.slice(page * pageLength, (page + 1) * pageLength);
  const sortBy = (column: number, isMore: boolean) => {
    const old = sorts.find((each) => each.column === column);
    const one = { column, down: old ? !old.down : false };
    setSorts(isMore ? [...sorts.filter((each) => each.column !== column), one] : [one]);
    setPage(0);
  };
  return (
    <>
      <div class="table">
        <table aria-label={label}>
          <thead><tr>{columns.map((column, i) => {
            const at = sorts.findIndex((each) => each.column === i);
            return (
              <th key={i} scope="col" aria-sort={at !== 0 ? "none" : sorts[0]!.down ? "descending" : "ascending"}>
                <button type="button" title="sort; with shift as a further column" onClick={(event) => sortBy(i, event.shiftKey)}>
                  {column.title}{at >= 0 && <span aria-hidden="true">{sorts[at]!.down ? " ↓" : " ↑"}{sorts.length > 1 ? at + 1 : ""}</span>}
                </button>
              </th>
            );
          })}</tr></thead>
          <tbody>{shown.map((row) => (
            <tr key={row} class={rowClass?.(row)}>{columns.map((column, i) => {
              const value = column.value(row);
              return (
                <td key={i} class={isNumber(value) ? "number" : undefined} title={isNumber(value) ? String(value) : undefined}>
                  {column.show ? column.show(row) : isNumber(value) ? short(numberOf(value)) : textOf(value)}
                </td>
              );
            })}</tr>
          ))}</tbody>
        </table>
      </div>
      {pages > 1 && <p class="pager">
        <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>before</button>
        {" "}rows {page * pageLength + 1} to {Math.min(sorted.length, (page + 1) * pageLength)} of {sorted.length.toLocaleString("en-US")}{" "}
        <button type="button" disabled={page + 1 >= pages} onClick={() => setPage(page + 1)}>after</button>
      </p>}
      <Csv columns={columns.filter((column) => !column.isControl)} rows={sorted} />
    </>
  );
}
