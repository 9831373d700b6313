// What is shown: the window, the selection, and the requests that follow.
import { duration, moment } from './format';
import { Painter, axisHeight } from './paint';
import type { Picture } from './paint';
import { Minimap } from './minimap';
import { theme } from './palette';
import { Tracks } from './tracks';
import type { Line } from './tracks';
import { RowType, noRef, gapRef, partRef } from './wire';
import type { Box, Found, Info, Label, View } from './wire';
import type { Scene } from './engine';

// What ts-analyze said of the trace when the page was made.
export interface Report {
  answers: { topic: string; title: string; answer: string }[];
  findings: {
    title: string;
    severity: string;
    what: string;
    todo: string;
    how: string;
    gain_ns: number | null;
    of_ns: number;
    from_ns: number | null;
    to_ns: number | null;
  }[];
}

export interface Selected {
  row: number;
  box: Box;
  label: Label | undefined;
}

export class App {
  from = 0;
  to = 1;
  scroll = 0;
  view: View | undefined;
  hover: { row: number; box: Box } | undefined;
  selected: Selected | undefined;
  area: { from: number; to: number; top: number; bottom: number } | undefined;
  matches: Set<number> | undefined;
  cursor: number | undefined;
  path = false;
  readonly tracks = new Tracks();
  readonly painter: Painter;
  readonly minimap: Minimap;
  // Called when something was selected, an area was, the window changed.
  onSelect: () => void = () => undefined;
  onArea: () => void = () => undefined;
  onWindow: () => void = () => undefined;
  readonly queryMs: number[] = [];
  readonly paintMs: number[] = [];
  private asked = '';
  private asking = false;
  private painting = false;
  private dark = matchMedia('(prefers-color-scheme: dark)').matches;

  constructor(
    readonly scene: Scene,
    public info: Info,
    readonly report: Report | undefined,
    canvas: HTMLCanvasElement,
    minimap: HTMLCanvasElement,
  ) {
    this.painter = new Painter(canvas);
    this.minimap = new Minimap(minimap, this);
    this.showAll();
    document.documentElement.classList.toggle('dark', this.dark);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  get gutter(): number {
    return this.painter.width < 700 ? 96 : 216;
  }

  get theme() {
    return theme(this.dark);
  }

  resize(): void {
    this.painter.resize();
    this.minimap.resize();
    this.changed();
  }

  setDark(dark = !this.dark): void {
    this.dark = dark;
    document.documentElement.classList.toggle('dark', dark);
    this.changed();
  }

  /* ---- The window ---- */

  get whole(): [number, number] {
    const span = Math.max(1, this.info.last - this.info.first);
    return [this.info.first - span * 0.005, this.info.last + span * 0.005];
  }

  showAll(): void {
    [this.from, this.to] = this.whole;
    this.changed();
  }

  // Shows [from, to), kept within the trace and not below 100 ns.
  show(from: number, to: number): void {
    const [first, last] = this.whole;
    const most = last - first;
    const span = Math.min(most, Math.max(100, to - from));
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - span / 2, first), last - span);
    this.to = this.from + span;
    this.changed();
  }

  zoom(factor: number, at: number): void {
    const span = Math.max(100, (this.to - this.from) * factor);
    const part = (at - this.from) / (this.to - this.from);
    const from = at - part * span;
    this.show(from, from + span);
  }

  pan(ns: number): void {
    this.show(this.from + ns, this.to + ns);
  }

  scrollTo(y: number): void {
    const most = this.tracks.height - (this.painter.height - axisHeight);
    this.scroll = Math.max(0, Math.min(y, most));
    this.changed();
  }

  time(x: number): number {
    return (
      this.from +
      ((x - this.gutter) / (this.painter.width - this.gutter)) *
        (this.to - this.from)
    );
  }

  // A moment as text, with the digits that the window needs.
  at(ns: number): string {
    return moment(ns, (this.to - this.from) / 1e3);
  }

  // A box in the middle, with its surroundings.
  reveal(start: number, end: number, row?: number): void {
    const span = Math.max(end - start, 100);
    if (
      start < this.from ||
      end > this.to ||
      span < (this.to - this.from) / 300
    )
      this.show(start - span * 4, end + span * 4);
    const line = row === undefined ? undefined : this.tracks.line(row);
    if (line) this.revealLine(line);
    this.changed();
  }

  private revealLine(line: Line): void {
    const room = this.painter.height - axisHeight;
    if (line.top < this.scroll || line.top + line.height > this.scroll + room)
      this.scrollTo(line.top - room / 2);
  }

  zoomTo(start: number, end: number): void {
    const margin = Math.max(50, (end - start) * 0.1);
    this.show(start - margin, end + margin);
  }

  /* ---- Requests ---- */

  async loadRows(): Promise<void> {
    this.tracks.set(await this.scene.rows());
    this.changed();
  }

  private visibleRows(): number[] {
    const margin = 200;
    return this.tracks
      .between(this.scroll - margin, this.scroll + this.painter.height + margin)
      .slice(0, 400)
      .map((l) => l.row!.id);
  }

  changed(): void {
    if (!this.painting) {
      this.painting = true;
      requestAnimationFrame(() => this.paint());
    }
  }

  private paint(): void {
    this.painting = false;
    if (!this.painter.width) return;
    this.painter.paint(this.picture());
    this.minimap.paint();
    this.paintMs.push(this.painter.lastMs);
    if (this.paintMs.length > 1000) this.paintMs.shift();
    void this.request();
    this.onWindow();
  }

  picture(): Picture {
    return {
      from: this.from,
      to: this.to,
      scroll: this.scroll,
      gutter: this.gutter,
      view: this.view,
      tracks: this.tracks,
      info: this.info,
      theme: this.theme,
      hover: this.hover,
      selected: this.selected,
      area: this.area,
      matches: this.matches,
      cursor: this.cursor,
      path: this.path,
    };
  }

  // Whether what is painted is the present window.
  settled(): boolean {
    return !this.asking && !this.painting;
  }

  // One request at a time; the last window wins.
  private async request(): Promise<void> {
    const rows = this.visibleRows();
    const pixels = Math.max(16, Math.round(this.painter.width - this.gutter));
    const what = [
      this.from,
      this.to,
      pixels,
      this.tracks.version,
      ...rows,
    ].join(' ');
    if (this.asking || what === this.asked || !rows.length) return;
    this.asking = true;
    this.asked = what;
    const begin = performance.now();
    try {
      const view = await this.scene.view(this.from, this.to, pixels, rows);
      this.queryMs.push(performance.now() - begin);
      if (this.queryMs.length > 1000) this.queryMs.shift();
      this.view = view;
      if (view.version !== this.tracks.version) await this.loadRows();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
    this.asking = false;
    this.changed();
  }

  // After rows changed without a change of the window.
  async reload(): Promise<void> {
    this.asked = '';
    await this.loadRows();
  }

  say(text: string): void {
    document.getElementById('status')!.textContent = text;
  }

  /* ---- What is under the pointer ---- */

  labelOf(box: Box): Label | undefined {
    return this.view?.labels.get(box.label);
  }

  // The box at a place of the canvas, of those that were drawn one by one.
  boxAt(x: number, y: number): { row: number; box: Box } | undefined {
    const line =
      y > axisHeight && x >= this.gutter
        ? this.tracks.at(y - axisHeight + this.scroll)
        : undefined;
    const view = line?.row && this.painter.viewOf(line.row.id);
    if (!view) return undefined;
    const time = this.time(x),
      slack = (2 * (this.to - this.from)) / this.painter.width;
    const box = view.boxes.find(
      (b) =>
        time >= b.start - slack && time < Math.max(b.end, b.start + 4 * slack),
    );
    return box && { row: view.row, box };
  }

  async pick(x: number, y: number): Promise<Found | undefined> {
    const line =
      y > axisHeight && x >= this.gutter
        ? this.tracks.at(y - axisHeight + this.scroll)
        : undefined;
    if (!line?.row) return undefined;
    const slack = (3 * (this.to - this.from)) / this.painter.width;
    return this.scene.pick(line.row.id, this.time(x), slack);
  }

  select(row: number, box: Box, label: Label | undefined): void {
    this.selected = { row, box, label };
    this.say(
      `${label?.text ?? ''}, ${duration(box.end - box.start)}, on ` +
        `${this.tracks.row(row)?.name ?? ''}`,
    );
    this.onSelect();
    this.changed();
  }

  unselect(): void {
    this.selected = undefined;
    this.area = undefined;
    this.changed();
  }

  // Goes to an event that an explanation names.
  async go(ref: bigint, start: number, end: number): Promise<void> {
    this.zoomTo(start, end);
    if (ref === noRef) return;
    const type =
      ref & gapRef ? RowType.device : ref & partRef ? RowType.path : undefined;
    const rows = this.tracks
      .all()
      .filter(
        (r) =>
          r.count &&
          r.type !== RowType.ghost &&
          r.type !== RowType.counter &&
          (type === undefined || r.type === type),
      );
    for (const row of rows) {
      const found = await this.scene.pick(row.id, start, 0);
      if (found?.box.ref !== ref) continue;
      this.select(row.id, found.box, found.label);
      this.reveal(start, end, row.id);
      return;
    }
  }

  /* ---- Search ---- */

  query = '';

  async search(text: string): Promise<number> {
    this.query = text;
    const found = text ? await this.scene.search(text) : undefined;
    if (text !== this.query) return 0;
    this.matches = found && new Set(found.sums.map((s) => s.id));
    this.changed();
    return found?.sums.reduce((sum, s) => sum + s.count, 0) ?? 0;
  }

  async next(backwards: boolean): Promise<boolean> {
    if (!this.query) return false;
    const at = this.selected;
    const found = await this.scene.next(
      this.query,
      at?.box.start ?? this.from,
      at?.row ?? 0,
      backwards,
    );
    if (!found) return false;
    this.select(found.row, found.box, found.label);
    this.reveal(found.box.start, found.box.end, found.row);
    return true;
  }

  /* ---- From box to box ---- */

  private boxes(row: number): Box[] {
    return this.painter.viewOf(row)?.boxes ?? [];
  }

  step(direction: 1 | -1): void {
    const at = this.selected;
    if (!at) return this.enter();
    const box =
      direction > 0
        ? this.boxes(at.row).find((b) => b.start > at.box.start)
        : this.boxes(at.row)
            .filter((b) => b.start < at.box.start)
            .pop();
    if (!box) return;
    this.select(at.row, box, this.labelOf(box));
    this.reveal(box.start, box.end, at.row);
  }

  // The nearest box of the next row that has any.
  stepRow(direction: 1 | -1): void {
    const at = this.selected;
    if (!at) return this.enter();
    const lines = this.tracks.lines;
    const middle = (at.box.start + at.box.end) / 2;
    let i = lines.findIndex((l) => l.row?.id === at.row) + direction;
    for (; i >= 0 && i < lines.length; i += direction) {
      const row = lines[i]!.row!.id;
      const best = this.boxes(row).reduce<Box | undefined>(
        (a, b) =>
          !a ||
          Math.abs((b.start + b.end) / 2 - middle) <
            Math.abs((a.start + a.end) / 2 - middle)
            ? b
            : a,
        undefined,
      );
      if (!best) continue;
      this.select(row, best, this.labelOf(best));
      this.revealLine(lines[i]!);
      return;
    }
  }

  private enter(): void {
    for (const line of this.tracks.between(
      this.scroll,
      this.scroll + this.painter.height,
    )) {
      const box = this.boxes(line.row!.id).find((b) => b.end > this.from);
      if (!box) continue;
      this.select(line.row!.id, box, this.labelOf(box));
      return;
    }
  }
}
