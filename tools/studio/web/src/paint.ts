// The tracks on a canvas. A view that is being replaced is drawn stretched to
// the window of now until the new one is there.
import { amount, axisStep, duration, moment, visible } from './format';
import { Flag, RowType } from './wire';
import type { Box, Info, Label, RowView, View } from './wire';
import type { Line, Tracks } from './tracks';
import { SvgCanvas } from './svg';
import type { Theme } from './palette';
import type { Arrows } from './arrows';
import type { Note } from './notes';

export const axisHeight = 30;

export interface Picture {
  from: number;
  to: number; // window
  scroll: number;
  gutter: number; // width of the names
  view: View | undefined;
  tracks: Tracks;
  info: Info;
  theme: Theme;
  hover: { row: number; box: Box } | undefined;
  selected: { row: number; box: Box } | undefined;
  area: { from: number; to: number; top: number; bottom: number } | undefined;
  matches: Set<number> | undefined; // labels of a search
  cursor: number | undefined; // time under the pointer
  path: boolean; // operations on it are marked
  arrows: Arrows;
  notes: readonly Note[];
  changes: ReadonlyMap<string, 'slower' | 'faster'>;
}

const font = '11px system-ui, "DejaVu Sans", sans-serif';

export class Painter {
  private context: CanvasRenderingContext2D;
  private strips: OffscreenCanvas | undefined;
  private stripsOf: View | undefined;
  private stripsDark = false;
  private stripRows = new Map<number, number>();
  private views = new Map<number, RowView>();
  private texts = new Map<string, string>();
  private vector = false;
  width = 0;
  height = 0;
  lastMs = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d', { alpha: false })!;
  }

  resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  x(p: Picture, time: number): number {
    return (
      p.gutter + ((time - p.from) / (p.to - p.from)) * (this.width - p.gutter)
    );
  }

  viewOf(row: number): RowView | undefined {
    return this.views.get(row);
  }

  // All strips of a view as one picture, a pixel high each.
  private makeStrips(view: View, theme: Theme): void {
    if (this.stripsOf === view && this.stripsDark === theme.dark) return;
    this.stripsOf = view;
    this.stripsDark = theme.dark;
    this.stripRows.clear();
    this.views = new Map(view.rows.map((r) => [r.row, r]));
    const rows = view.rows.filter((r) => r.busy);
    if (!rows.length) return;
    const image = new ImageData(view.pixels, rows.length);
    rows.forEach((row, y) => {
      this.stripRows.set(row.row, y);
      const { busy, hue } = row as { busy: Uint8Array; hue: Uint8Array };
      let to = 4 * y * view.pixels;
      for (let i = 0; i < view.pixels; i++, to += 4) {
        const at = 3 * hue[i]!;
        image.data[to] = theme.rgb[at]!;
        image.data[to + 1] = theme.rgb[at + 1]!;
        image.data[to + 2] = theme.rgb[at + 2]!;
        // What is there is seen, however short it is.
        image.data[to + 3] = busy[i] ? 70 + (busy[i]! * 185) / 255 : 0;
      }
    });
    this.strips = new OffscreenCanvas(view.pixels, rows.length);
    this.strips.getContext('2d')!.putImageData(image, 0, 0);
  }

  private drawStrip(p: Picture, line: Line, y: number): void {
    const at = this.stripRows.get(line.row!.id);
    if (at === undefined || !this.strips || !p.view) return;
    if (this.vector) return this.drawRuns(p, line, y);
    const from = this.x(p, p.view.from),
      to = this.x(p, p.view.to);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(
      this.strips,
      0,
      at,
      p.view.pixels,
      1,
      from,
      y,
      to - from,
      line.height,
    );
  }

  private colorOf(p: Picture, box: Box): string {
    const label = p.view?.labels.get(box.label);
    return p.theme.boxes[label?.hue ?? 0]!;
  }

  private shown(text: string): string {
    let shown = this.texts.get(text);
    if (shown === undefined) {
      shown = visible(text.length > 300 ? `${text.slice(0, 300)}…` : text);
      if (this.texts.size > 20000) this.texts.clear();
      this.texts.set(text, shown);
    }
    return shown;
  }

  private drawText(
    p: Picture,
    text: string,
    from: number,
    to: number,
    y: number,
    height: number,
  ): void {
    const left = Math.max(from, p.gutter) + 4,
      room = Math.min(to, this.width) - left - 2;
    if (room < 14) return;
    const most = Math.floor(room / 5.6);
    const shown = this.shown(text);
    this.context.fillStyle = p.theme.onBoxes;
    this.context.fillText(
      shown.length > most ? `${shown.slice(0, Math.max(1, most - 1))}…` : shown,
      left,
      y + height / 2 + 0.5,
      room,
    );
  }

  private drawBox(p: Picture, line: Line, box: Box, y: number): void {
    const moment = box.end <= box.start;
    const from = Math.max(this.x(p, box.start), p.gutter - 4);
    const to = moment ? from + 3 : Math.min(this.x(p, box.end), this.width + 4);
    if (to < p.gutter || from > this.width) return;
    const c = this.context;
    const label: Label | undefined = p.view?.labels.get(box.label);
    const ghost = line.row!.type === RowType.ghost;
    c.globalAlpha =
      p.matches && !p.matches.has(box.label)
        ? 0.22
        : ghost || box.flags & Flag.waits
          ? 0.55
          : 1;
    c.fillStyle = this.colorOf(p, box);
    c.fillRect(
      from,
      y,
      Math.max(1, to - from - (to - from > 4 ? 0.7 : 0)),
      line.height,
    );
    c.globalAlpha = 1;
    if (p.path && box.flags & Flag.onPath) {
      c.fillStyle = p.theme.accent;
      c.fillRect(from, y + line.height - 3, Math.max(1, to - from), 3);
    }
    const change = label && p.changes.get(label.text);
    if (change) {
      c.fillStyle = change === 'slower' ? p.theme.slower : p.theme.faster;
      c.fillRect(from, y, Math.max(1, to - from), 3);
    }
    if (label && !moment && to - from > 20 && line.height > 12)
      this.drawText(
        p,
        box.flags & Flag.guess ? `${label.text}?` : label.text,
        from,
        to,
        y,
        line.height,
      );
  }

  private drawSamples(p: Picture, line: Line, view: RowView, y: number): void {
    const c = this.context,
      { low, high } = view;
    if (!low || !high || !p.view) return;
    const least = Math.min(0, line.row!.low),
      most = Math.max(0, line.row!.high);
    const span = most - least || 1,
      room = line.height - 4;
    const at = (v: number) => y + 2 + room - ((v - least) / span) * room;
    const from = this.x(p, p.view.from),
      step = (this.x(p, p.view.to) - from) / p.view.pixels;
    const zero = at(0);
    c.fillStyle = p.theme.accent;
    for (let i = 0; i < p.view.pixels; i++) {
      if (Number.isNaN(high[i]!)) continue;
      // A step at the edge of a pixel is drawn in it.
      const before = i && !Number.isNaN(high[i - 1]!) ? i - 1 : i;
      const top = at(Math.max(high[i]!, low[before]!)),
        bottom = at(Math.min(low[i]!, high[before]!));
      c.globalAlpha = 0.25;
      c.fillRect(
        from + i * step,
        Math.min(top, zero),
        step + 0.5,
        Math.abs(zero - top),
      );
      c.globalAlpha = 1;
      c.fillRect(
        from + i * step,
        top - 0.75,
        step + 0.5,
        Math.max(1.5, bottom - top + 1.5),
      );
    }
  }

  private drawLine(p: Picture, line: Line): void {
    const y = axisHeight + line.top - p.scroll;
    const view = this.views.get(line.row!.id);
    const c = this.context;
    c.fillStyle = p.theme.band;
    c.fillRect(p.gutter, y, this.width - p.gutter, line.height);
    if (!view) return;
    if (view.low) {
      this.drawSamples(p, line, view, y);
      return;
    }
    this.drawStrip(p, line, y);
    for (const box of view.boxes) this.drawBox(p, line, box, y);
  }

  // Where records were lost, over all tracks.
  private drawLosses(p: Picture): void {
    const c = this.context;
    for (const loss of p.info.losses) {
      if (!loss.lost) continue;
      const from = this.x(p, loss.first);
      const to = Math.max(this.x(p, loss.last), from + 2);
      if (to < p.gutter || from > this.width) continue;
      c.fillStyle = '#d0204055';
      c.fillRect(
        Math.max(from, p.gutter),
        axisHeight - 6,
        to - Math.max(from, p.gutter),
        6,
      );
    }
  }

  private outline(
    p: Picture,
    what: { row: number; box: Box } | undefined,
    color: string,
    width: number,
  ): void {
    const line = what && p.tracks.line(what.row);
    if (!what || !line) return;
    const from = this.x(p, what.box.start);
    const to =
      line.row!.type === RowType.counter ? from + 2 : this.x(p, what.box.end);
    this.context.strokeStyle = color;
    this.context.lineWidth = width;
    this.context.strokeRect(
      Math.max(from, p.gutter - 4) + 0.5,
      axisHeight + line.top - p.scroll + 0.5,
      Math.max(2, Math.min(to, this.width + 4) - Math.max(from, p.gutter - 4)) -
        1,
      line.height - 1,
    );
  }

  private drawGrid(p: Picture): void {
    const c = this.context;
    const step = axisStep(p.to - p.from, (this.width - p.gutter) / 110);
    c.fillStyle = p.theme.grid;
    for (let t = Math.ceil(p.from / step) * step; t <= p.to; t += step)
      c.fillRect(Math.round(this.x(p, t)), axisHeight, 1, this.height);
  }

  private drawAxis(p: Picture): void {
    const c = this.context;
    const step = axisStep(p.to - p.from, (this.width - p.gutter) / 110);
    c.fillStyle = p.theme.panel;
    c.fillRect(0, 0, this.width, axisHeight);
    c.fillStyle = p.theme.faint;
    for (let t = Math.ceil(p.from / step) * step; t <= p.to; t += step) {
      const x = this.x(p, t);
      c.fillRect(Math.round(x), axisHeight - 8, 1, 8);
      c.fillText(moment(t, step), x + 4, 11);
    }
    c.fillStyle = p.theme.panel;
    c.fillRect(0, 0, p.gutter, axisHeight);
    c.fillStyle = p.theme.text;
    c.fillText(duration(p.to - p.from), 10, axisHeight / 2);
    c.fillStyle = p.theme.line;
    c.fillRect(0, axisHeight - 1, this.width, 1);
  }

  // The name of a group stays in sight as long as any of its rows does.
  private drawNames(p: Picture, lines: Line[]): void {
    const c = this.context;
    c.fillStyle = p.theme.panel;
    c.fillRect(0, axisHeight, p.gutter, this.height);
    const heads = new Map<string, Line>();
    for (const line of lines)
      if (!heads.has(line.group)) heads.set(line.group, line);
    for (const [group, line] of heads) {
      const last = lines.findLast((l) => l.group === group)!;
      const top = axisHeight + line.top - p.scroll;
      const bottom = axisHeight + last.top + last.height - p.scroll;
      const height = Math.min(line.height, 20);
      const y = Math.max(top, Math.min(axisHeight + 2, bottom - height));
      this.drawName(p, p.tracks.head(group) ?? line, y, height);
    }
    c.fillStyle = p.theme.line;
    c.fillRect(p.gutter - 1, 0, 1, this.height);
  }

  private drawName(p: Picture, line: Line, y: number, height: number): void {
    const c = this.context;
    const middle = y + height / 2;
    const pinned = p.tracks.pinned.has(line.group);
    c.fillStyle = p.theme.faint;
    c.fillText(line.folded ? '▸' : '▾', 8, middle);
    c.fillStyle = p.theme.text;
    const most = Math.floor((p.gutter - 30) / 5.8);
    const title = this.shown((pinned ? '★ ' : '') + line.title);
    c.fillText(
      title.length > most ? `${title.slice(0, most - 1)}…` : title,
      22,
      middle,
      p.gutter - 28,
    );
    if (line.row!.type !== RowType.counter || line.height < 30) return;
    c.fillStyle = p.theme.faint;
    c.fillText(
      this.shown(
        `${amount(line.row!.low, line.detail)} to ` +
          amount(line.row!.high, line.detail),
      ),
      22,
      middle + 16,
      p.gutter - 28,
    );
  }

  private drawArea(p: Picture): void {
    if (!p.area) return;
    const from = Math.max(p.gutter, this.x(p, p.area.from));
    const to = Math.min(this.width, this.x(p, p.area.to));
    const top = Math.max(axisHeight, axisHeight + p.area.top - p.scroll);
    const bottom = Math.min(this.height, axisHeight + p.area.bottom - p.scroll);
    if (to <= from || bottom <= top) return;
    this.context.fillStyle = p.theme.selection;
    this.context.fillRect(from, top, to - from, bottom - top);
    this.context.fillStyle = p.theme.accent;
    this.context.fillRect(from, top, 1, bottom - top);
    this.context.fillRect(to - 1, top, 1, bottom - top);
    this.context.fillText(duration(p.area.to - p.area.from), from + 5, top + 9);
  }

  // Notes are flags on the axis, with their numbers.
  private drawNotes(p: Picture): void {
    const c = this.context;
    p.notes.forEach((note, i) => {
      const from = this.x(p, note.from),
        to = this.x(p, note.to);
      if (to < p.gutter || from > this.width) return;
      const left = Math.max(from, p.gutter);
      const text = String(i + 1);
      const width = 8 + 6 * text.length;
      c.fillStyle = p.theme.accent;
      c.globalAlpha = 0.5;
      c.fillRect(left, axisHeight, 1, this.height);
      if (to > from) c.fillRect(left, axisHeight - 3, to - left, 3);
      c.globalAlpha = 1;
      c.fillRect(left, axisHeight - 14, width, 12);
      c.fillStyle = p.theme.background;
      c.fillText(text, left + 4, axisHeight - 8);
    });
  }

  // The same picture as SVG.
  svg(p: Picture): string {
    const canvas = this.context;
    const svg = new SvgCanvas();
    this.context = svg as unknown as CanvasRenderingContext2D;
    this.vector = true;
    try {
      this.paint(p);
    } finally {
      this.context = canvas;
      this.vector = false;
    }
    return svg.document(this.width, this.height);
  }

  // A strip as rectangles, each as wide as nothing changes.
  private drawRuns(p: Picture, line: Line, y: number): void {
    const row = this.views.get(line.row!.id);
    if (!row?.busy || !row.hue || !p.view) return;
    const c = this.context;
    const from = this.x(p, p.view.from),
      step = (this.x(p, p.view.to) - from) / p.view.pixels;
    for (let i = 0, next; i < row.busy.length; i = next) {
      next = i + 1;
      while (
        next < row.busy.length &&
        row.busy[next] === row.busy[i] &&
        row.hue[next] === row.hue[i]
      )
        next++;
      if (!row.busy[i]) continue;
      c.globalAlpha = (70 + (row.busy[i]! * 185) / 255) / 255;
      c.fillStyle = p.theme.boxes[row.hue[i]!]!;
      c.fillRect(from + i * step, y, (next - i) * step, line.height);
    }
    c.globalAlpha = 1;
  }

  paint(p: Picture): void {
    const begin = performance.now();
    const c = this.context;
    c.font = font;
    c.textBaseline = 'middle';
    c.fillStyle = p.theme.background;
    c.fillRect(0, 0, this.width, this.height);
    if (p.view) this.makeStrips(p.view, p.theme);
    const lines = p.tracks.between(
      p.scroll,
      p.scroll + this.height - axisHeight,
    );
    this.drawGrid(p);
    for (const line of lines) this.drawLine(p, line);
    p.arrows.paint(p, this, c);
    this.outline(p, p.hover, p.theme.text, 1);
    this.outline(p, p.selected, p.theme.accent, 2);
    this.drawArea(p);
    if (p.cursor !== undefined) {
      c.fillStyle = p.theme.faint;
      c.fillRect(Math.round(this.x(p, p.cursor)), axisHeight, 1, this.height);
    }
    this.drawNames(p, lines);
    this.drawAxis(p);
    this.drawLosses(p);
    this.drawNotes(p);
    this.lastMs = performance.now() - begin;
  }
}
