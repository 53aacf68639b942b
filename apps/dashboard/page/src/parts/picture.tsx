// A figure on a canvas, with its sentence, what the pointer or the arrow keys are at, and a table
// of the same.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { markAt, paint, placeOf, type Drawing, type Mark, type Size, type Theme } from "../figures/drawing";
import { Rows, type RowsOf } from "./rows";

const roles = ["ink", "muted", "grid", "line", "accent", "bad", "warn", "good", "band", "page"];

function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  return {
    ...Object.fromEntries(roles.map((role) => [role, style.getPropertyValue("--" + role).trim()])),
    isDark: matchMedia("(prefers-color-scheme: dark)").matches ? "yes" : "no",
  };
}

/** Again when light becomes dark. */
function useTheme(): Theme {
  const [theme, set] = useState(readTheme);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const listener = () => set(readTheme());
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return theme;
}

export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current!;
    const look = () => set(Math.floor(element.clientWidth));
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Answers with how often the picture is to be drawn: again and again while it is near the screen,
 *  and once in any case, when nothing else is to do, for what is read aloud or printed. A brush must
 *  not wait for pictures that nobody sees. */
function useTurn(ref: RefObject<HTMLDivElement | null>): "now" | "once" | "not yet" {
  const [isNear, setNear] = useState(false);
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setNear(entries[entries.length - 1]!.isIntersecting), { rootMargin: "150px" });
    observer.observe(ref.current!);
    const later = setTimeout(() => setIdle(true), 1500);
    const beforePrint = () => { setIdle(true); };
    addEventListener("beforeprint", beforePrint);
    return () => { observer.disconnect(); clearTimeout(later); removeEventListener("beforeprint", beforePrint); };
  }, []);
  return isNear ? "now" : isIdle ? "once" : "not yet";
}

export interface Drag { start(x: number, y: number): boolean; move(x: number, y: number): void; end(): void; cancel(): void }

const nothing: Drawing = { marks: [], sentence: "" };

interface Props {
  draw: (size: Size) => Drawing;
  /** What `draw` looks at: it is drawn again when one of these has changed. */
  of: unknown[];
  height: number;
  open?: ((trial: number) => void) | undefined;
  rows?: (() => RowsOf) | undefined;
  drag?: ((size: Size) => Drag) | undefined;
  children?: ComponentChildren;
}

export function Picture({ draw, of, height, open, rows, drag, children }: Props) {
  const [ref, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [at, setAt] = useState<Mark | null>(null);
  const dragging = useRef<Drag | null>(null);
  const size = { width, height };
  const turn = useTurn(ref);
  const last = useRef<{ of: unknown[]; drawing: Drawing } | null>(null);
  const key = [width, height, ...of];
  const isStale = last.current === null || key.some((each, i) => each !== last.current!.of[i]);
  if (width > 0 && isStale && (turn === "now" || (turn === "once" && last.current === null))) {
    last.current = { of: key, drawing: draw(size) };
  }
  const drawing = last.current?.drawing ?? nothing;
  const isEmpty = last.current !== null && drawing.marks.length === 0;

  // What is drawn anew has the mark again, if at another place.
  useEffect(() => setAt((old) => {
    const trial = old?.of?.trial;
    if (trial === undefined) return null;
    const [x, y] = placeOf(old!) ?? [0, 0];
    const far = (mark: Mark) => { const place = placeOf(mark); return place ? Math.hypot(place[0] - x, place[1] - y) : Infinity; };
    return drawing.marks.filter((mark) => mark.of?.trial === trial && mark.kind === old!.kind).reduce<Mark | null>((a, b) => a && far(a) <= far(b) ? a : b, null);
  }), [drawing]);
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element || width === 0) return;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    const context = element.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    paint(context, drawing.marks, theme);
  }, [drawing, theme, isEmpty]);

  const place = at && placeOf(at);
  const find = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top] as const;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const marks = drawing.marks.filter((mark) => mark.of && mark.kind !== "text");
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 50, PageUp: -50 }[event.key];
    if (step !== undefined && marks.length > 0) {
      const next = at ? marks.indexOf(at) + step : step > 0 ? 0 : marks.length - 1;
      setAt(marks[Math.min(marks.length - 1, Math.max(0, next))]!);
      event.preventDefault();
    } else if (event.key === "Enter" && at?.of?.trial !== undefined && open) {
      open(at.of.trial);
    } else if (event.key === "Escape") {
      setAt(null);
    }
  };
  return (
    <figure>
      <p class="sentence">{drawing.sentence}</p>
      <div ref={ref} class="canvas" style={{ height: `${isEmpty ? 0 : height}px` }}>
        {!isEmpty && <canvas
          ref={canvas} tabIndex={0} role="img" aria-label={drawing.sentence} style={{ width: `${width}px`, height: `${height}px` }}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            // A finger scrolls; the ranges have fields, too.
            const one = event.pointerType === "touch" ? undefined : drag?.(size);
            if (one?.start(...find(event))) {
              dragging.current = one;
              canvas.current!.setPointerCapture(event.pointerId);
            }
          }}
          onPointerMove={(event) => {
            if (dragging.current) dragging.current.move(...find(event));
            else setAt(markAt(drawing.marks, ...find(event)));
          }}
          onPointerUp={() => { dragging.current?.end(); dragging.current = null; }}
          onPointerCancel={() => { dragging.current?.cancel(); dragging.current = null; }}
          onPointerLeave={() => { if (!dragging.current) setAt(null); }}
          onClick={(event) => {
            const mark = markAt(drawing.marks, ...find(event as unknown as PointerEvent));
            if (mark?.of?.trial !== undefined && open && matchMedia("(hover: hover)").matches) open(mark.of.trial);
            else setAt(mark);
          }}
        />}
        {place && <span class="here" style={{ left: `${place[0]}px`, top: `${place[1]}px` }} />}
      </div>
      {!isEmpty && drawing.marks.some((mark) => mark.of) && <p class="said" aria-live="polite">
        {at?.of ? <>{at.of.said()} {at.of.trial !== undefined && open && <button type="button" class="link" onClick={() => open(at.of!.trial!)}>open</button>}</> : "Point at a mark, or go with the arrow keys."}
      </p>}
      {children}
      {rows && !isEmpty && <AsTable rows={rows} />}
    </figure>
  );
}

/** Made when somebody opens it: it may be long. */
function AsTable({ rows }: { rows: () => RowsOf }) {
  const [isOpen, set] = useState(false);
  return (
    <details onToggle={(event) => set((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>as a table</summary>
      {isOpen && <Rows {...rows()} />}
    </details>
  );
}
