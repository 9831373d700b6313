// Which rows are shown, where: groups of tracks, folded or not.
import { CounterPart, RowType, TrackType } from './wire';
import type { Row, RowGroup, Rows, Track } from './wire';
import { layerOf } from './layers';
import type { Layer } from './layers';

export interface Line {
  row: Row | undefined; // undefined: the head of a group
  group: string; // key of the group
  title: string; // at its first line only
  detail: string;
  top: number;
  height: number;
  folded: boolean;
  first: boolean;
}

// As the trace has them by kind of track; by name; the most boxes first.
export type Sort = 'kind' | 'name' | 'count';

export type Group = RowGroup;

function boxes(group: Group): number {
  return group.rows.reduce((sum, row) => sum + row.count, 0);
}

const heights: Record<number, number> = {
  [RowType.frames]: 18,
  [RowType.zones]: 18,
  [RowType.calls]: 18,
  [RowType.marks]: 16,
  [RowType.device]: 22,
  [RowType.work]: 20,
  [RowType.ghost]: 14,
  [RowType.counter]: 44,
  [RowType.path]: 18,
  [RowType.layer]: 18,
};

// What is not loaded as a whole has no counts yet; what is derived from it
// then needs some.
export function mayHaveBoxes(row: Row, whole: boolean): boolean {
  const derived =
    row.type >= RowType.device &&
    row.type !== RowType.work &&
    row.type !== RowType.counter;
  return !!row.count || !(whole || derived);
}

export class Tracks {
  lines: Line[] = [];
  height = 0;
  readonly folded = new Set<string>();
  readonly pinned = new Set<string>();
  readonly hidden = new Set<string>();
  sort: Sort = 'kind';
  private rows: Rows = { version: -1, whole: true, rows: [], tracks: [] };
  private tracks = new Map<number, Track>();
  readonly layers = new Map<number, Layer>();
  private readonly places = new Map<number, Line>();
  filter = '';
  path = false; // the critical path is shown

  get version(): number {
    return this.rows.version;
  }

  get whole(): boolean {
    return this.rows.whole;
  }

  set(rows: Rows): void {
    this.rows = rows;
    this.tracks = new Map(rows.tracks.map((t) => [t.id, t]));
    this.lay();
  }

  row(id: number): Row | undefined {
    const layer = this.layers.get(layerOf(id));
    return layer ? layer.rows.find((r) => r.id === id) : this.rows.rows[id];
  }

  all(): Row[] {
    return this.rows.rows;
  }

  private ancestor(id: number, type: number): Track | undefined {
    for (let i = 0; i < 16 && id; i++) {
      const track = this.tracks.get(id);
      if (!track || track.type === type) return track;
      id = track.parent;
    }
    return undefined;
  }

  // Where a row of the trace is shown; a second trace asks, too.
  groupOf(row: Row): Group {
    if (row.group) return { ...row.group, rows: [] };
    const process = this.ancestor(row.parent, TrackType.process)?.id ?? 0;
    const device =
      row.trackType === TrackType.device
        ? row.track
        : this.ancestor(row.parent, TrackType.device)?.id;
    if (row.type === RowType.path)
      return {
        key: 'path',
        title: 'Critical path',
        rows: [],
        detail: 'what bounds the run',
        order: [0],
      };
    if (row.type === RowType.frames && !row.track)
      return {
        key: 'spans',
        title: 'Spans',
        detail: '',
        rows: [],
        order: [2],
      };
    if (row.type === RowType.counter)
      return {
        key: `c${row.track}${row.part ? `.${row.part}` : ''}`,
        title: row.name,
        detail: row.unit,
        rows: [],
        order: this.counterOrder(row, process, device),
      };
    const gpu =
      row.type === RowType.device ||
      row.type === RowType.work ||
      row.type === RowType.ghost;
    if (gpu || row.trackType === TrackType.stream)
      return {
        key: `t${row.track}`,
        title: row.name,
        rows: [],
        detail: row.type === RowType.device ? row.unit : '',
        order: [
          1,
          process,
          device ?? 0,
          row.type === RowType.device ? 0 : 1,
          row.track,
        ],
      };
    return {
      key: `t${row.track}`,
      title: row.name,
      detail: '',
      rows: [],
      order: [3, process, row.track],
    };
  }

  // Counters of a device stand below its streams; those of streams, which may
  // be many, below all that was recorded.
  private counterOrder(row: Row, process: number, device?: number): number[] {
    if (row.part === CounterPart.recorded) return [4, process, row.track];
    if (row.part === CounterPart.queue)
      return [5, process, device ?? 0, row.track];
    return device === undefined
      ? [4, process, row.track, row.part]
      : [1, process, device, 2, row.part];
  }

  private groups(): Group[] {
    const groups = new Map<string, Group>();
    const more = [...this.layers.values()].flatMap((l) => l.rows);
    const own = this.rows.rows.filter((r) => mayHaveBoxes(r, this.whole));
    for (const row of [...own, ...more]) {
      if (row.type === RowType.path && !this.path) continue;
      const made = this.groupOf(row);
      const group = groups.get(made.key) ?? made;
      groups.set(made.key, group);
      group.rows.push(row);
    }
    return [...groups.values()].sort((a, b) => this.compare(a, b));
  }

  // Tracks that could be shown, in their order.
  listed(): Group[] {
    return this.groups();
  }

  isShown(group: Group): boolean {
    return (
      !this.hidden.has(group.key) &&
      group.title.toLowerCase().includes(this.filter.toLowerCase())
    );
  }

  private compare(a: Group, b: Group): number {
    const pins =
      Number(this.pinned.has(b.key)) - Number(this.pinned.has(a.key));
    if (pins) return pins;
    if (this.sort === 'name' && a.title !== b.title)
      return a.title < b.title ? -1 : 1;
    const more = boxes(b) - boxes(a);
    if (this.sort === 'count' && more) return more;
    for (let i = 0; i < a.order.length && i < b.order.length; i++)
      if (a.order[i] !== b.order[i]) return a.order[i]! - b.order[i]!;
    return a.key < b.key ? -1 : 1;
  }

  lay(): void {
    this.lines = [];
    let top = 4;
    this.places.clear();
    for (const group of this.groups()) {
      if (!this.isShown(group)) continue;
      group.rows.sort((a, b) => a.type - b.type || a.part - b.part);
      const folded = this.folded.has(group.key);
      const rows = folded ? group.rows.slice(0, 1) : group.rows;
      rows.forEach((row, i) => {
        const height =
          folded && row.type !== RowType.counter
            ? 12
            : (heights[row.type] ?? 18);
        const line = {
          row,
          group: group.key,
          folded,
          top,
          height,
          title: i ? '' : group.title,
          detail: i ? '' : group.detail,
          first: i === 0,
        };
        this.lines.push(line);
        this.places.set(row.id, line);
        top += height + 1;
      });
      const head = this.places.get(group.rows[0]!.id)!;
      for (const row of group.rows)
        if (!this.places.has(row.id)) this.places.set(row.id, head);
      top += folded ? 4 : 7;
    }
    this.height = top;
  }

  fold(key: string): void {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.lay();
  }

  hide(key: string): void {
    if (!this.hidden.delete(key)) this.hidden.add(key);
    this.lay();
  }

  pin(key: string): void {
    if (!this.pinned.delete(key)) this.pinned.add(key);
    this.lay();
  }

  at(y: number): Line | undefined {
    return this.lines.find((l) => y >= l.top && y < l.top + l.height + 1);
  }

  between(top: number, bottom: number): Line[] {
    return this.lines.filter((l) => l.top < bottom && l.top + l.height > top);
  }

  // The line of a row; of one that is folded away, that of its track.
  place(row: number): Line | undefined {
    return this.places.get(row);
  }

  // The first line of a group, which has its name.
  head(group: string): Line | undefined {
    return this.lines.find((l) => l.group === group);
  }

  line(row: number): Line | undefined {
    const line = this.places.get(row);
    return line?.row?.id === row ? line : undefined;
  }
}
