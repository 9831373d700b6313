// Statistics of an area: by name, by what launched, as a flame graph, and how
// long the boxes of a name are.
import { button, el, table } from './dom';
import { count, duration, share } from './format';
import { Flamegraph } from './flamegraph';
import { layerRows } from './layers';
import { FlameBy, RowType } from './wire';
import type {
  Area,
  AreaSum,
  Bin,
  Flame,
  Histogram,
  Label,
  Share,
} from './wire';
import type { App } from './app';

type By = 'name' | 'track' | 'zone' | 'stack';

// tree: of a flame graph; without one it is a table of names
const ways: Record<By, { text: string; tree?: number }> = {
  name: { text: 'by name' },
  track: { text: 'by track: boxes in boxes', tree: FlameBy.boxes },
  zone: { text: 'by the zone that launched', tree: FlameBy.zones },
  stack: { text: 'by the stack that launched', tree: FlameBy.stacks },
};

// What figures rest on, unless that is all there is.
function sayShare(s: Share): Node[] {
  const { counted, events, behind } = s;
  if (behind)
    return [
      el(
        'p',
        { class: 'faint', role: 'status', id: 'counting' },
        `${share(counted, events || 1)} of the events are counted so far.`,
      ),
    ];
  if (counted === events) return [];
  return [
    el(
      'p',
      { class: 'faint' },
      `Of ${count(events)} events, ${count(counted)} are counted: the others ` +
        'cannot be read, or too many chunks lie over each other.',
    ),
  ];
}

export class AreaPanel {
  private turn = 0; // of what is shown; the last goes on counting
  private by: By = 'name';
  private label: Label | undefined; // of the histogram

  constructor(
    private readonly app: App,
    private readonly again: () => void,
    private readonly search: (text: string) => void,
  ) {}

  // Nobody looks any more.
  stop(): void {
    this.turn++;
  }

  // Shows what is counted so far, and goes on until all is.
  private async counted<T extends { share: Share }>(
    turn: number,
    ask: () => Promise<T>,
    show: (answer: T) => Node[],
  ): Promise<Node> {
    const holder = el('div', {});
    const fill = (answer: T): void =>
      holder.replaceChildren(...sayShare(answer.share), ...show(answer));
    if (turn !== this.turn) return holder;
    let first = await ask();
    // What takes a few requests only is shown once, as a whole.
    for (let i = 0; first.share.behind && i < 8 && turn === this.turn; i++)
      first = await ask();
    fill(first);
    if (first.share.behind) void this.goOn(turn, ask, fill);
    return holder;
  }

  private async goOn<T extends { share: Share }>(
    turn: number,
    ask: () => Promise<T>,
    fill: (answer: T) => void,
  ): Promise<void> {
    const often = 300; // ms
    for (let last = performance.now(), more = true; more; ) {
      const answer = await ask().catch(() => undefined);
      if (!answer || turn !== this.turn) return;
      more = answer.share.behind;
      if (more && performance.now() - last < often) continue;
      last = performance.now();
      fill(answer);
    }
  }

  forget(): void {
    this.label = undefined;
  }

  private rows(): number[] {
    const { area, tracks } = this.app;
    return tracks
      .between(area!.top, area!.bottom)
      .map((l) => l.row!)
      .filter(
        (r) =>
          r.type !== RowType.counter &&
          r.type !== RowType.path &&
          r.type !== RowType.ghost &&
          r.id < layerRows,
      )
      .map((r) => r.id);
  }

  async content(): Promise<Node[]> {
    const { turn } = this;
    const { area } = this.app;
    if (!area) return [el('p', {}, 'Drag with Shift to select an area.')];
    const rows = this.rows();
    return [
      el('h2', {}, `${duration(area.to - area.from)} selected`),
      el(
        'p',
        { class: 'faint' },
        `From ${this.app.at(area.from)}, ${count(rows.length)} rows. Times ` +
          'are those within the area.',
      ),
      el('div', { class: 'row' }, this.chooser()),
      ...(this.label ? [await this.histogram(turn, this.label, rows)] : []),
      await (this.by === 'name'
        ? this.names(turn, rows)
        : this.flame(turn, rows)),
    ];
  }

  private chooser(): Node {
    const select = el('select', {
      id: 'area-by',
      'aria-label': 'Statistics',
      change: () => {
        this.by = select.value as By;
        this.label = undefined;
        this.again();
      },
    });
    for (const [value, { text }] of Object.entries(ways))
      select.append(el('option', { value, selected: value === this.by }, text));
    return select;
  }

  /* ---- Names ---- */

  private names(turn: number, rows: number[]): Promise<Node> {
    const { from, to } = this.app.area!;
    return this.counted(
      turn,
      () => this.app.scene.area(from, to, rows),
      (area) => this.nameTable(area),
    );
  }

  private nameTable({ boxes, names, sums }: Area): Node[] {
    const shown = sums.slice(0, 200);
    return [
      table<AreaSum>(
        `${count(boxes)} boxes of ${count(names)} names` +
          (shown.length < names
            ? `; below are the ${count(shown.length)} largest`
            : ''),
        [
          { title: 'name', cell: (s) => s.text },
          { title: 'total', number: true, cell: (s) => duration(s.total) },
          { title: 'self', number: true, cell: (s) => duration(s.self) },
          { title: 'count', number: true, cell: (s) => count(s.count) },
          {
            title: 'mean',
            number: true,
            cell: (s) => duration(s.total / s.count),
          },
          {
            title: 'longest',
            number: true,
            cell: (s) => this.lengths(s),
          },
        ],
        shown,
        (s) => this.search(s.text),
      ),
    ];
  }

  // The longest; pressed, it shows how long all of them are.
  private lengths(s: AreaSum): Node {
    const b = button(
      duration(s.most),
      () => {
        this.label = s;
        this.again();
      },
      'How long the boxes of this name are',
    );
    b.className = 'link';
    b.setAttribute('aria-label', `Durations of ${s.text}`);
    return b;
  }

  /* ---- Durations ---- */

  private histogram(
    turn: number,
    label: Label,
    rows: number[],
  ): Promise<Node> {
    const { from, to } = this.app.area!;
    return this.counted(
      turn,
      () => this.app.scene.histogram(from, to, label.id, rows),
      (h) => this.durations(label, h),
    );
  }

  private durations(label: Label, h: Histogram): Node[] {
    if (!h.count) return [];
    return [
      el('h3', {}, `Durations of ${label.text}`),
      el(
        'p',
        { id: 'durations' },
        `${count(h.count)} ${h.count === 1 ? 'box' : 'boxes'}, ${duration(h.least)} to ` +
          `${duration(h.most)}: half are within ${duration(h.p50)}, 90 % ` +
          `within ${duration(h.p90)}, 99 % within ${duration(h.p99)}.`,
      ),
      this.bars(h.bins),
      table<Bin>(
        'By duration; each leads to its longest box',
        [
          {
            title: 'from',
            cell: (b) => duration(b.from),
          },
          { title: 'boxes', number: true, cell: (b) => count(b.count) },
          {
            title: 'share',
            number: true,
            cell: (b) => share(b.count, h.count),
          },
          { title: 'total', number: true, cell: (b) => duration(b.total) },
        ],
        h.bins,
        (b) => void this.go(b),
      ),
    ];
  }

  private async go(bin: Bin): Promise<void> {
    const { app } = this;
    const found = await app.scene.pick(bin.row, bin.start, 0);
    if (!found) return;
    app.reveal(bin.start, bin.end, bin.row);
    app.select(found.row, found.box, found.label);
  }

  private bars(bins: Bin[]): Node {
    const width = 400,
      height = 80;
    const canvas = el('canvas', {
      width: String(width),
      height: String(height),
      role: 'img',
      'aria-label': 'Number of boxes by duration; the table below has the same',
      class: 'bar',
    });
    const c = canvas.getContext('2d')!;
    const first = Math.log(Math.max(1, bins[0]!.from));
    const last = Math.log(Math.max(2, bins.at(-1)!.to));
    const most = bins.reduce((n, b) => Math.max(n, b.count), 0);
    c.fillStyle = this.app.theme.accent;
    for (const b of bins) {
      const at = (ns: number) =>
        ((Math.log(Math.max(1, ns)) - first) / (last - first || 1)) * width;
      const high = Math.max(2, (b.count / most) * height);
      c.fillRect(
        at(b.from),
        height - high,
        Math.max(1.5, at(b.to) - at(b.from) - 0.5),
        high,
      );
    }
    return canvas;
  }

  /* ---- Trees ---- */

  private flame(turn: number, rows: number[]): Promise<Node> {
    const { from, to } = this.app.area!;
    const by = ways[this.by].tree!;
    let graph: Flamegraph | undefined;
    return this.counted(
      turn,
      () => this.app.scene.flame(from, to, by, rows),
      (tree) => {
        if (!tree.nodes.length) return this.nothing(by, tree);
        graph = new Flamegraph(this.app, tree, graph?.path ?? []);
        return graph.nodes();
      },
    );
  }

  private nothing(by: number, tree: Flame): Node[] {
    if (tree.share.behind) return [];
    return [
      el(
        'p',
        {},
        by === FlameBy.boxes
          ? 'No zone, call or operation is in the area.'
          : 'No operation of a device is in the area.',
      ),
    ];
  }
}
