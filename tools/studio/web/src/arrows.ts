// Arrows between boxes: what the selected one waited for and what waited for
// it, the critical path from box to box, and all arrows of what is shown.
import { table } from './dom';
import { count, duration } from './format';
import { axisHeight } from './paint';
import type { Painter, Picture } from './paint';
import { noRef } from './wire';
import type { Flow, Flows } from './wire';
import type { App } from './app';

export const edgeWords: Record<string, string> = {
  host_order: 'calls of a thread in order',
  launch: 'launched by',
  stream_order: 'operations of the stream in order',
  event: 'ordered by an event',
  sync: 'a synchronisation',
  legacy_default: 'the legacy default stream',
  graph: 'an edge of the launched graph',
  collective: 'ranks of a collective',
  queue_full: 'a full launch queue',
  point_to_point: 'a send and its receive',
  user: 'stated by the trace',
};

export class Arrows {
  all = false; // arrows of everything that is shown
  private selected: Flows | undefined;
  private window: Flow[] = [];
  private asked = '';
  private asking = false;
  private selecting = 0;
  private of: bigint | undefined;

  constructor(private readonly app: App) {}

  // After the selection has changed.
  async select(): Promise<void> {
    const box = this.app.selected?.box;
    this.of = box?.ref;
    this.selected = undefined;
    if (!box || box.ref === noRef || !this.app.info.operations) return;
    if (this.app.sceneOf(this.app.selected!.row) !== this.app.scene) return;
    this.selecting++;
    const flows = await this.app.scene
      .flowsOf(box.ref)
      .finally(() => this.selecting--);
    if (this.of !== box.ref) return;
    this.selected = flows;
    this.app.changed();
  }

  settled(): boolean {
    return !this.asking && !this.selecting;
  }

  forget(): void {
    this.asked = '';
    this.selected = undefined;
  }

  // After the window has changed, or more of it is known (views: how often it
  // was answered): one request at a time, the last one wins.
  async update(rows: number[], views: number): Promise<void> {
    const { app } = this;
    const what = [app.from, app.to, app.path, this.all, views, ...rows].join(
      ' ',
    );
    if (this.asking || what === this.asked || !app.info.operations) return;
    this.asked = what;
    if (!app.path && !this.all) {
      this.window = [];
      return;
    }
    this.asking = true;
    const pixels = Math.max(16, Math.round(app.painter.width / 2));
    const found = await Promise.all([
      app.path ? app.scene.flowsIn(app.from, app.to, pixels) : undefined,
      this.all ? app.scene.flowsIn(app.from, app.to, pixels, rows) : undefined,
    ]).catch(() => []);
    this.asking = false;
    this.window = found.flatMap((f) => f?.flows ?? []);
    const total = found.reduce((n, f) => n + (f?.total ?? 0), 0);
    const more = found.some((f) => f?.more);
    if (this.window.length < total)
      app.say(
        `${count(this.window.length)} of ${more ? 'more than ' : ''}` +
          `${count(total)} arrows are drawn: ` +
          'zoom in to see the others',
      );
    app.changed();
  }

  toggle(): void {
    this.all = !this.all;
    this.app.say(
      this.all ? 'Arrows of all that is shown' : 'Arrows of the selected box',
    );
    this.app.changed();
  }

  /* ---- Drawing ---- */

  paint(p: Picture, painter: Painter, c: CanvasRenderingContext2D): void {
    if (!this.window.length && !this.selected?.flows.length) return;
    c.save();
    c.beginPath();
    c.rect(p.gutter, axisHeight, painter.width - p.gutter, painter.height);
    c.clip();
    for (const flow of this.window) this.draw(p, painter, c, flow, 0.55);
    for (const flow of this.selected?.flows ?? [])
      this.draw(p, painter, c, flow, 1);
    c.restore();
  }

  private draw(
    p: Picture,
    painter: Painter,
    c: CanvasRenderingContext2D,
    flow: Flow,
    alpha: number,
  ): void {
    const from = p.tracks.place(flow.from.row);
    const to = p.tracks.place(flow.to.row);
    if (!from || !to) return; // a hidden track
    const y1 = axisHeight + from.top + from.height / 2 - p.scroll;
    const y2 = axisHeight + to.top + to.height / 2 - p.scroll;
    const x1 = painter.x(p, flow.from.ns),
      x2 = painter.x(p, flow.to.ns);
    const bend = Math.min(60, Math.max(12, Math.abs(x2 - x1) / 2));
    c.globalAlpha = flow.last ? alpha : alpha * 0.6;
    c.strokeStyle = c.fillStyle = p.theme.arrow;
    c.lineWidth = flow.last ? 2 : 1.2;
    c.setLineDash(flow.inferred ? [4, 3] : []);
    c.beginPath();
    c.moveTo(x1, y1);
    c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
    c.stroke();
    c.setLineDash([]);
    c.beginPath();
    c.moveTo(x2, y2);
    c.lineTo(x2 - 7, y2 - 3.5);
    c.lineTo(x2 - 7, y2 + 3.5);
    c.fill();
    c.globalAlpha = 1;
  }

  /* ---- As a table ---- */

  private words(flow: Flow): string {
    return (
      (edgeWords[flow.edge] ?? flow.edge) +
      (flow.last ? ', satisfied last' : '') +
      (flow.inferred ? ' (inferred from times)' : '')
    );
  }

  private side(flows: Flows, incoming: boolean): Node | undefined {
    const { app } = this;
    const other = (f: Flow) => (incoming ? f.from : f.to);
    const list = flows.flows.filter(
      (f) => (incoming ? f.to : f.from).ref === this.of,
    );
    if (!list.length) return undefined;
    return table<Flow>(
      incoming ? 'It waited for' : 'What waited for it',
      [
        {
          title: 'name',
          cell: (f) => flows.labels.get(other(f).label)?.text ?? '',
        },
        { title: 'track', cell: (f) => app.tracks.row(other(f).row)?.name },
        { title: 'why', cell: (f) => this.words(f) },
        {
          title: 'delay',
          number: true,
          cell: (f) => duration(f.to.ns - f.from.ns),
        },
      ],
      list.slice(0, 100),
      (f) => void this.go(f, incoming),
    );
  }

  private async go(flow: Flow, incoming: boolean): Promise<void> {
    const end = incoming ? flow.from : flow.to;
    // An arrow begins at the end of a box, where the next one may begin.
    for (const ns of [end.ns, end.ns - 1]) {
      const found = await this.app.scene.pick(end.row, ns, 0);
      if (found?.box.ref !== end.ref) continue;
      this.app.select(found.row, found.box, found.label);
      this.app.reveal(found.box.start, found.box.end, found.row);
      return;
    }
  }

  async nodes(ref: bigint): Promise<Node[]> {
    if (!this.app.info.operations || ref === noRef) return [];
    const flows =
      this.of === ref && this.selected
        ? this.selected
        : await this.app.scene.flowsOf(ref);
    if (!flows) return [];
    return [this.side(flows, true), this.side(flows, false)].filter(
      (n) => n !== undefined,
    );
  }
}
