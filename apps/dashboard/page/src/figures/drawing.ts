// What figures are made of. A figure is a pure function from columns to marks; `paint` is the only
// place that knows a canvas.

/** A role of the theme, or a place from 0 to 1 on its scale of colours. */
export type Ink = "ink" | "muted" | "grid" | "line" | "accent" | "bad" | "warn" | "good" | "band" | "page" | number;

/** What a mark stands for: found under the pointer or by arrow keys, and said in words. */
export interface Meaning { said: () => string; trial?: number }

interface Common { alpha?: number; of?: Meaning }
export type Mark = Common & (
  /** x and y in turns; NaN lifts the pen. */
  | { kind: "path"; points: number[]; ink: Ink; width?: number; dash?: number[] }
  | { kind: "dot"; x: number; y: number; r: number; ink: Ink; hollow?: boolean }
  | { kind: "rect"; x: number; y: number; w: number; h: number; ink: Ink }
  | { kind: "text"; x: number; y: number; text: string; ink: Ink; anchor?: "start" | "middle" | "end"; most?: number; bold?: boolean }
);

export interface Drawing {
  marks: Mark[];
  /** What is to be seen, for those who do not see it. */
  sentence: string;
}

export interface Size { width: number; height: number }

/** Where a mark with a meaning is; nothing for marks without a place of their own. */
export function placeOf(mark: Mark): [number, number] | null {
  switch (mark.kind) {
    case "dot": return [mark.x, mark.y];
    case "rect": return [mark.x + mark.w / 2, mark.y + mark.h / 2];
    case "path": return mark.points.length >= 2 ? [mark.points[mark.points.length - 2]!, mark.points[mark.points.length - 1]!] : null;
    default: return null;
  }
}

function distance(mark: Mark, x: number, y: number): number {
  switch (mark.kind) {
    case "dot": return Math.hypot(mark.x - x, mark.y - y) - 1;
    case "rect": {
      const dx = Math.max(mark.x - x, 0, x - mark.x - mark.w);
      const dy = Math.max(mark.y - y, 0, y - mark.y - mark.h);
      return Math.hypot(dx, dy);
    }
    case "path": {
      let least = Infinity;
      const p = mark.points;
      for (let i = 2; i + 1 < p.length; i += 2) {
        const [ax, ay, bx, by] = [p[i - 2]!, p[i - 1]!, p[i]!, p[i + 1]!];
        const length2 = (bx - ax) ** 2 + (by - ay) ** 2;
        const t = length2 > 0 ? Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length2)) : 0;
        const d = Math.hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y);
        if (d < least) least = d;
      }
      return least;
    }
    default: return Infinity;
  }
}

/** The mark with a meaning that is nearest to a place, within a finger's breadth. */
export function markAt(marks: Mark[], x: number, y: number, reach = 14): Mark | null {
  let found: Mark | null = null;
  let least = reach;
  for (const mark of marks) {
    if (!mark.of) continue;
    const d = distance(mark, x, y);
    if (d <= least) { found = mark; least = d; }
  }
  return found;
}

export interface Theme { [role: string]: string }

type Rgb = [number, number, number];
/** From what is near to the page's own colour to what stands out most, so that lightness alone tells
 *  them apart. */
const onLight: Rgb[] = [[186, 196, 214], [126, 170, 205], [62, 134, 182], [28, 92, 150], [64, 20, 100]];
const onDark: Rgb[] = [[62, 74, 104], [58, 104, 140], [60, 150, 150], [130, 200, 110], [250, 226, 90]];

export function colourAt(t: number, isDark: boolean): string {
  const scale = isDark ? onDark : onLight;
  const at = Math.min(1, Math.max(0, t)) * (scale.length - 1);
  const i = Math.min(scale.length - 2, Math.floor(at));
  const mixed = scale[i]!.map((from, c) => Math.round(from + (at - i) * (scale[i + 1]![c]! - from)));
  return `rgb(${mixed.join(",")})`;
}

const font = "12px system-ui, sans-serif";

export function paint(context: CanvasRenderingContext2D, marks: Mark[], theme: Theme): void {
  const colour = (ink: Ink) => typeof ink === "number" ? colourAt(ink, theme.isDark === "yes") : theme[ink] ?? "gray";
  for (const mark of marks) {
    context.globalAlpha = mark.alpha ?? 1;
    switch (mark.kind) {
      case "path": {
        context.strokeStyle = colour(mark.ink);
        context.lineWidth = mark.width ?? 1;
        context.setLineDash(mark.dash ?? []);
        context.beginPath();
        let isDown = false;
        for (let i = 0; i + 1 < mark.points.length; i += 2) {
          const [x, y] = [mark.points[i]!, mark.points[i + 1]!];
          if (Number.isNaN(x) || Number.isNaN(y)) { isDown = false; continue; }
          if (isDown) context.lineTo(x, y); else context.moveTo(x, y);
          isDown = true;
        }
        context.stroke();
        context.setLineDash([]);
        break;
      }
      case "dot":
        if (mark.r < 2 && !mark.hollow) {
          // Nobody sees that these are square, and there are thousands of them.
          context.fillStyle = colour(mark.ink);
          context.fillRect(mark.x - mark.r, mark.y - mark.r, 2 * mark.r, 2 * mark.r);
          break;
        }
        context.beginPath();
        context.arc(mark.x, mark.y, mark.r, 0, 2 * Math.PI);
        if (mark.hollow) {
          context.strokeStyle = colour(mark.ink);
          context.lineWidth = 1.5;
          context.stroke();
        } else {
          context.fillStyle = colour(mark.ink);
          context.fill();
        }
        break;
      case "rect":
        context.fillStyle = colour(mark.ink);
        context.fillRect(mark.x, mark.y, mark.w, mark.h);
        break;
      case "text": {
        context.font = mark.bold ? "600 " + font : font;
        context.fillStyle = colour(mark.ink);
        context.textAlign = mark.anchor === "middle" ? "center" : mark.anchor ?? "start";
        context.textBaseline = "middle";
        let text = mark.text;
        if (mark.most !== undefined && context.measureText(text).width > mark.most) {
          while (text.length > 1 && context.measureText(text + "…").width > mark.most) text = text.slice(0, -1);
          text += "…";
        }
        // Read over lines, too.
        context.strokeStyle = theme.page ?? "white";
        context.lineWidth = 3;
        context.lineJoin = "round";
        context.strokeText(text, mark.x, mark.y);
        context.fillText(text, mark.x, mark.y);
        break;
      }
    }
  }
  context.globalAlpha = 1;
}
