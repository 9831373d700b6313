// What is shown: the window, the selection, and the requests that follow.
import { count, duration, moment, visible } from './format';
import { Painter, axisHeight } from './paint';
import type { Picture } from './paint';
import { Arrows } from './arrows';
import { Minimap } from './minimap';
import { Notes } from './notes';
import { theme } from './palette';
import { Tracks } from './tracks';
import type { Line } from './tracks';
import { RowType, noRef, gapRef, partRef } from './wire';
import type { Box, Found, Info, Label, View } from './wire';
import type { Scene } from './engine';
import { layerOf } from './layers';
import type { Layer } from './layers';

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
  // Of names that a comparison found changed: slower, faster.
  changes = new Map<string, 'slower' | 'faster'>();
  readonly tracks = new Tracks();
  readonly painter: Painter;
  readonly minimap: Minimap;
  readonly arrows: Arrows;
  readonly notes: Notes;
  // Called when something was selected, an area was, the window changed.
  onSelect: () => void = () => undefined;
  onArea: () => void = () => undefined;
  onWindow: () => void = () => undefined;
  readonly queryMs: number[] = [];
  readonly paintMs: number[] = [];
  private asked = '';
  private views = 0; // that were answered
  private asking = false;
  private working = false;
  private painting = false;
  private dark = matchMedia('(prefers-color-scheme: dark)').matches;

  constructor(
    readonly scene: Scene,
    public info: Info,
    readonly report: Report | undefined,
    canvas: HTMLCanvasElement,
    minimap: HTMLCanvasElement,
    name: string,
  ) {
    this.painter = new Painter(canvas);
    this.minimap = new Minimap(minimap, this);
    this.arrows = new Arrows(this);
    this.notes = new Notes(this, name);
    this.showAll();
    document.documentElement.classList.toggle('dark', this.dark);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  get isDark(): boolean {
    return this.dark;
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
      arrows: this.arrows,
      notes: this.notes.list,
      changes: this.changes,
    };
  }

  // Whether what is painted is the present window.
  settled(): boolean {
    return (
      !this.asking &&
      !this.painting &&
      !this.working &&
      this.arrows.settled()
    );
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
    if (this.asking) return;
    if (what === this.asked || !rows.length) return this.updateArrows(rows);
    this.asking = true;
    this.asked = what;
    const begin = performance.now();
    try {
      const view = await this.ask(pixels, rows);
      this.queryMs.push(performance.now() - begin);
      if (this.queryMs.length > 1000) this.queryMs.shift();
      this.view = view;
      this.views++;
      void this.updateArrows(rows);
      if (view.version !== this.tracks.version) await this.loadRows();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
    this.asking = false;
    this.changed();
    if (this.behind()) void this.work();
  }

  // After the view, which loads what arrows are between.
  private updateArrows(rows: number[]): Promise<void> {
    return this.arrows.update(
      rows.filter((row) => !layerOf(row)),
      this.views,
    );
  }

  // Who has more to do for the view: this trace, or a second one.
  private behind(): Scene | undefined {
    const row = this.view?.rows.find((r) => r.behind);
    return row && this.sceneOf(row.row);
  }

  // Draws again what was drawn from pictures, as the scene gets to know more.
  private async work(): Promise<void> {
    if (this.working) return;
    this.working = true;
    for (let scene = this.behind(); scene; scene = this.behind()) {
      const work = await scene.work().catch(() => undefined);
      if (!work) break;
      if (!work.better && work.behind) continue;
      this.asked = '';
      await this.request();
      if (this.asking) await new Promise(requestAnimationFrame);
    }
    this.working = false;
  }

  // What the trace and each layer have in the window.
  private async ask(pixels: number, rows: number[]): Promise<View> {
    const { from, to, tracks } = this;
    const of = (layer: number) => rows.filter((r) => layerOf(r) === layer);
    const view = await this.scene.view(from, to, pixels, of(0));
    for (const [number, layer] of tracks.layers) {
      const wanted = of(number);
      if (!wanted.length) continue;
      const part = await layer.view(from, to, pixels, wanted);
      view.rows.push(...part.rows);
      for (const [id, label] of part.labels) view.labels.set(id, label);
    }
    return view;
  }

  // Adds, replaces or (undefined) removes rows that are not of the trace.
  setLayer(number: number, layer: Layer | undefined): void {
    if (layer) this.tracks.layers.set(number, layer);
    else this.tracks.layers.delete(number);
    this.asked = '';
    this.tracks.lay();
    this.scrollTo(this.scroll);
  }

  // Who knows of the events of a row; undefined: the page made them.
  sceneOf(row: number): Scene | undefined {
    const layer = this.tracks.layers.get(layerOf(row));
    return layer ? layer.scene : this.scene;
  }

  pickRow(
    row: number,
    time: number,
    slack: number,
  ): Promise<Found | undefined> {
    const layer = this.tracks.layers.get(layerOf(row));
    return layer
      ? layer.pick(row, time, slack)
      : this.scene.pick(row, time, slack);
  }

  // After rows changed without a change of the window.
  async reload(): Promise<void> {
    this.asked = '';
    this.arrows.forget();
    await this.loadRows();
  }

  say(text: string): void {
    document.getElementById('status')!.textContent = visible(text);
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
    return this.pickRow(line.row.id, this.time(x), slack);
  }

  select(row: number, box: Box, label: Label | undefined): void {
    this.selected = { row, box, label };
    this.say(
      `${label?.text ?? ''}, ${duration(box.end - box.start)}, on ` +
        `${this.tracks.row(row)?.name ?? ''}`,
    );
    void this.arrows.select();
    this.onSelect();
    this.changed();
  }

  unselect(): void {
    this.selected = undefined;
    void this.arrows.select();
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
          (r.count || !this.tracks.whole) &&
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

  // Returns how many boxes have such a name, in words; '': nothing was asked.
  async search(text: string): Promise<string> {
    this.query = text;
    const found = text ? await this.scene.search(text) : undefined;
    if (!found || text !== this.query) {
      if (!text) this.matches = undefined;
      this.changed();
      return '';
    }
    const { sums } = found;
    this.matches = new Set(sums.map((s) => s.id));
    this.changed();
    const boxes = sums.reduce((sum, s) => sum + s.count, 0);
    const where = found.loaded ? ', in what is loaded' : '';
    return found.found > sums.length
      ? `${count(boxes)} of the first ${count(sums.length)} names found${where}`
      : `${count(boxes)} found${where}`;
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
