// Which rows are shown, where: groups of tracks, folded or not.
import { RowType, TrackType } from './wire';
import type { Row, Rows, Track } from './wire';

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

interface Group {
  key: string;
  title: string;
  detail: string;
  rows: Row[];
  order: number[];
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
};

export class Tracks {
  lines: Line[] = [];
  height = 0;
  readonly folded = new Set<string>();
  readonly pinned = new Set<string>();
  private rows: Rows = { version: -1, whole: true, rows: [], tracks: [] };
  private tracks = new Map<number, Track>();
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
    return this.rows.rows[id];
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

  private groupOf(row: Row): Group {
    const process = this.ancestor(row.parent, TrackType.process)?.id ?? 0;
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
        key: `c${row.track}`,
        title: row.name,
        detail: row.unit,
        rows: [],
        order: [4, process, row.track],
      };
    const device =
      row.trackType === TrackType.device
        ? row.track
        : this.ancestor(row.parent, TrackType.device)?.id;
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

  private groups(): Group[] {
    const groups = new Map<string, Group>();
    for (const row of this.rows.rows) {
      if (row.type === RowType.path && !this.path) continue;
      if (
        !row.count &&
        (this.rows.whole ||
          (row.type >= RowType.device &&
            row.type !== RowType.work &&
            row.type !== RowType.counter))
      )
        continue;
      const made = this.groupOf(row);
      const group = groups.get(made.key) ?? made;
      groups.set(made.key, group);
      group.rows.push(row);
    }
    const wanted = this.filter.toLowerCase();
    return [...groups.values()]
      .filter((g) => g.title.toLowerCase().includes(wanted))
      .sort((a, b) => this.compare(a, b));
  }

  private compare(a: Group, b: Group): number {
    const pins =
      Number(this.pinned.has(b.key)) - Number(this.pinned.has(a.key));
    if (pins) return pins;
    for (let i = 0; i < a.order.length && i < b.order.length; i++)
      if (a.order[i] !== b.order[i]) return a.order[i]! - b.order[i]!;
    return a.key < b.key ? -1 : 1;
  }

  lay(): void {
    this.lines = [];
    let top = 4;
    for (const group of this.groups()) {
      group.rows.sort((a, b) => a.type - b.type || a.part - b.part);
      const folded = this.folded.has(group.key);
      const rows = folded ? group.rows.slice(0, 1) : group.rows;
      rows.forEach((row, i) => {
        const height =
          folded && row.type !== RowType.counter
            ? 12
            : (heights[row.type] ?? 18);
        this.lines.push({
          row,
          group: group.key,
          folded,
          top,
          height,
          title: i ? '' : group.title,
          detail: i ? '' : group.detail,
          first: i === 0,
        });
        top += height + 1;
      });
      top += folded ? 4 : 7;
    }
    this.height = top;
  }

  fold(key: string): void {
    if (!this.folded.delete(key)) this.folded.add(key);
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

  // The first line of a group, which has its name.
  head(group: string): Line | undefined {
    return this.lines.find((l) => l.group === group);
  }

  line(row: number): Line | undefined {
    return this.lines.find((l) => l.row?.id === row);
  }
}
