// Rows that are not of the trace of the page: of a second trace, of a query.
import { RowType, noRef } from './wire';
import type { Box, Found, Label, Row, RowView } from './wire';
import type { Scene } from './engine';

// Rows of the trace have lower numbers.
export const layerRows = 1 << 20;

export interface Layer {
  readonly rows: Row[]; // their ids are base + a number
  readonly scene: Scene | undefined; // who knows of its events
  view(
    from: number,
    to: number,
    pixels: number,
    rows: number[],
  ): Promise<{ rows: RowView[]; labels: Map<number, Label> }>;
  pick(row: number, time: number, slack: number): Promise<Found | undefined>;
}

export function layerOf(row: number): number {
  return Math.floor(row / layerRows);
}

export interface Item {
  start: number;
  end: number;
  name: string;
}

// The same hue as in the trace: see hue_of in scene.c.
function hueOf(text: string): number {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(text))
    hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return 1 + (((hash ^ (hash >>> 15)) >>> 0) % 200);
}

// Boxes made by the page: results of a query, or of a check.
export class ItemLayer implements Layer {
  readonly rows: Row[] = [];
  readonly scene = undefined;
  private readonly lanes: Box[][] = [];
  private readonly labels = new Map<number, Label>();
  private readonly base: number;

  constructor(
    number: number,
    title: string,
    items: Item[],
    order: number[] = [0, 1],
  ) {
    this.base = number * layerRows;
    const ids = new Map<string, number>();
    const sorted = [...items].sort((a, b) => a.start - b.start);
    for (const item of sorted) {
      let id = ids.get(item.name);
      if (id === undefined) {
        id = this.base * 4096 + ids.size;
        ids.set(item.name, id);
        this.labels.set(id, {
          id,
          kind: 0,
          hue: hueOf(item.name),
          text: item.name,
        });
      }
      this.lane(item).push({
        start: item.start,
        end: Math.max(item.start, item.end),
        ref: noRef,
        label: id,
        flags: 0,
      });
    }
    this.lanes.forEach((boxes, part) =>
      this.rows.push({
        id: this.base + part,
        type: RowType.layer,
        track: 0,
        part,
        count: boxes.length,
        low: 0,
        high: 0,
        trackType: 0,
        parent: 0,
        name: title,
        unit: '',
        group: { key: `l${number}`, title, detail: '', order, rows: [] },
      }),
    );
  }

  // The first lane that is free; the last one takes what has no place.
  private lane(item: Item): Box[] {
    const free = this.lanes.find((l) => l.at(-1)!.end <= item.start);
    if (free) return free;
    if (this.lanes.length < 24) this.lanes.push([]);
    const lane = this.lanes.at(-1)!;
    const last = lane.at(-1);
    if (last && last.end > item.start) last.end = item.start;
    return lane;
  }

  private draw(row: number, from: number, to: number, pixels: number): RowView {
    const busy = new Uint8Array(pixels),
      hue = new Uint8Array(pixels);
    const boxes: Box[] = [];
    const scale = pixels / (to - from);
    for (const box of this.lanes[row - this.base] ?? []) {
      if (box.end < from || box.start > to) continue;
      const a = Math.max(0, (box.start - from) * scale),
        b = Math.min(pixels, (box.end - from) * scale);
      if (b - a >= 3 || box.end === box.start) boxes.push(box);
      const label = this.labels.get(box.label)!;
      for (let p = Math.floor(a); p < pixels && p <= b; p++) {
        const part = Math.min(b, p + 1) - Math.max(a, p);
        busy[p] = Math.min(255, busy[p]! + Math.max(1, part * 255));
        hue[p] = label.hue;
      }
    }
    return {
      row,
      type: RowType.layer,
      coarse: false,
      behind: false,
      busy,
      hue,
      boxes,
    };
  }

  view(from: number, to: number, pixels: number, rows: number[]) {
    return Promise.resolve({
      rows: rows.map((row) => this.draw(row, from, to, pixels)),
      labels: this.labels,
    });
  }

  pick(row: number, time: number, slack: number): Promise<Found | undefined> {
    const box = (this.lanes[row - this.base] ?? []).find(
      (b) => time >= b.start - slack && time <= b.end + slack,
    );
    return Promise.resolve(
      box && { row, box, label: this.labels.get(box.label) },
    );
  }
}

// Rows of another trace, moved in time so that a step of it lies below one of
// this trace.
export class TraceLayer implements Layer {
  rows: Row[] = [];
  private readonly base: number;

  constructor(
    number: number,
    readonly scene: Scene,
    // How much later its events are shown, for a window.
    private readonly offset: (from: number, to: number) => number,
    // Its rows have changed: of what version they are now.
    private readonly renewed: () => Promise<number>,
  ) {
    this.base = number * layerRows;
  }

  version = -1; // of the rows
  private last = 0; // the offset of the last view

  private moved(box: Box, by: number): Box {
    return {
      ...box,
      start: box.start + by,
      end: box.end + by,
      label: this.base * 4096 + box.label,
    };
  }

  private label(label: Label): Label {
    return { ...label, id: this.base * 4096 + label.id };
  }

  async view(from: number, to: number, pixels: number, rows: number[]) {
    const by = (this.last = Math.round(this.offset(from, to)));
    const view = await this.scene.view(
      from - by,
      to - by,
      pixels,
      rows.map((r) => r - this.base),
    );
    if (view.version !== this.version) this.version = await this.renewed();
    return {
      rows: view.rows.map((r) => ({
        ...r,
        row: r.row + this.base,
        boxes: r.boxes.map((b) => this.moved(b, by)),
      })),
      labels: new Map(
        [...view.labels.values()].map((l) => {
          const label = this.label(l);
          return [label.id, label];
        }),
      ),
    };
  }

  async pick(row: number, time: number, slack: number) {
    const by = this.last;
    const found = await this.scene.pick(row - this.base, time - by, slack);
    return (
      found && {
        row,
        box: this.moved(found.box, by),
        label: found.label && this.label(found.label),
      }
    );
  }
}
