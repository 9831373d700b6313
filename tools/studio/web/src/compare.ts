// Two traces: steps of one below those of the other, and what ts-diff says.
import { button, el, table } from './dom';
import { count, duration } from './format';
import { TraceLayer, layerRows } from './layers';
import { Scene } from './engine';
import type { Engine } from './engine';
import type { Tasks } from './tasks';
import { RowType } from './wire';
import type { Info, Row, Rows } from './wire';
import { mayHaveBoxes } from './tracks';
import { graphAtOnce } from './idle';
import type { App } from './app';

const layer = 2;

interface Difference {
  name: string;
  a: number | null;
  b: number | null;
  change: number | null;
  share: number | null;
  verdict: string | null;
  p: string | null;
  evidence?: { from_ns: number; to_ns: number };
}

interface Topic {
  title: string;
  answer: string;
  applies: boolean;
  tables: Record<
    string,
    { title: string; units: Record<string, string>; rows: Difference[] }
  >;
}

interface StepRows {
  answers: {
    steps: { tables: { steps?: { rows: { start_ns: number }[] } } };
  };
}

// Tables of ts-diff whose names are those of boxes.
const named = ['kernels', 'transfers', 'zones', 'api'];

// Where work begins: of a device, if its graph is small, else of anything.
async function begin(scene: Scene, info: Info): Promise<number> {
  if (!info.operations || info.operations > graphAtOnce) return info.first;
  const idle = await scene.idle().catch(() => undefined);
  if (!idle) return info.first; // the trace has no graph
  return Math.min(...idle.devices.map((d) => d.start), info.last);
}

export class ComparePanel {
  private name = '';
  private other: Scene | undefined;
  private steps: [number[], number[]] = [[], []];
  private shift = 0; // of what is not aligned by steps
  private topics: Topic[] | undefined;
  private problem = '';
  private unaligned = ''; // why steps are not known

  constructor(
    private readonly app: App,
    private readonly tasks: Tasks | undefined,
    private readonly openFile: (file: File) => Promise<Engine>,
    private readonly again: () => void,
  ) {}

  // With a second trace of the server.
  async served(engine: Engine, name: string): Promise<void> {
    await this.open(engine, name);
    void this.align();
  }

  private async open(engine: Engine, name: string): Promise<void> {
    const { app } = this;
    this.other = new Scene(engine);
    this.name = name;
    const [a, b] = await Promise.all([
      begin(app.scene, app.info),
      begin(this.other, await this.other.info()),
    ]);
    this.shift = a - b;
    const renew = async () => {
      const rows = await made.scene.rows();
      made.rows = this.place(rows);
      if (app.tracks.layers.get(layer) === made) app.setLayer(layer, made);
      return rows.version;
    };
    const made = new TraceLayer(
      layer,
      this.other,
      (from, to) => this.offset((from + to) / 2),
      renew,
    );
    made.version = await renew();
    app.setLayer(layer, made);
  }

  // Each row of the second trace stands below that of the same name in the
  // first, else at the end.
  private place({ rows, whole }: Rows): Row[] {
    const { tracks } = this.app;
    const known = new Map<string, Row>();
    const key = (r: Row) => `${r.type} ${r.name}`;
    for (const row of tracks.all())
      if (!known.has(key(row))) known.set(key(row), row);
    return rows
      .filter(
        (r) =>
          mayHaveBoxes(r, whole) &&
          r.type !== RowType.path &&
          r.type !== RowType.ghost,
      )
      .map((row) => {
        const twin = known.get(key(row));
        const group = twin && tracks.groupOf(twin);
        return {
          ...row,
          id: layer * layerRows + row.id,
          group: {
            key: `${group?.key ?? `z${row.track}`}~B`,
            title: `B: ${row.name}`,
            detail: row.unit,
            order: group?.order ?? [5, row.track],
            rows: [],
          },
        };
      });
  }

  private async align(): Promise<void> {
    if (!this.tasks) return;
    try {
      const of = async (what: string) =>
        (
          (await this.tasks!.json<StepRows>(what)).answers.steps.tables.steps
            ?.rows ?? []
        ).map((s) => s.start_ns);
      this.steps = [await of('steps'), await of('steps2')];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.unaligned = ` Steps are not known: ${why}`;
    }
    const { layers } = this.app.tracks;
    if (layers.has(layer)) this.app.setLayer(layer, layers.get(layer));
    this.again();
  }

  // How much later the second trace is shown around a time: so that the step
  // that lies there begins with the same step of the first.
  private offset(time: number): number {
    const [a, b] = this.steps;
    const most = Math.min(a.length, b.length);
    if (!most) return this.shift;
    let at = 0;
    while (at + 1 < most && a[at + 1]! <= time) at++;
    return a[at]! - b[at]!;
  }

  private async compare(): Promise<void> {
    this.problem = '';
    try {
      const all = await this.tasks!.json<{ answers: Record<string, Topic> }>(
        'diff',
      );
      this.topics = Object.values(all.answers).filter((t) => t.applies);
      this.mark();
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.again();
  }

  // Boxes of names that changed by more than noise are marked on the tracks.
  // Names are those of the trace, as there: see `diff` in tasks.c.
  private mark(): void {
    const changes = new Map<string, 'slower' | 'faster'>();
    for (const topic of this.topics ?? [])
      for (const table of named)
        for (const row of topic.tables[table]?.rows ?? [])
          if (this.isChange(row) && row.change)
            changes.set(row.name, row.change > 0 ? 'slower' : 'faster');
    this.app.changes = changes;
    this.app.changed();
  }

  private isChange(row: Difference): boolean {
    return (
      !!row.verdict && row.verdict !== 'noise' && row.verdict !== 'untested'
    );
  }

  /* ---- The panel ---- */

  content(): Node[] {
    const input = el('input', {
      type: 'file',
      id: 'second',
      'aria-label': 'Second trace',
      change: () => {
        const file = input.files?.[0];
        if (file) void this.choose(file);
      },
    });
    return [
      el('h2', {}, 'Compare'),
      ...(this.other
        ? this.compared()
        : [
            el(
              'p',
              {},
              'Choose a second trace: its rows are shown below those of ' +
                'this one, as B.',
            ),
            el('p', {}, input),
          ]),
      ...(this.problem ? [el('p', { role: 'alert' }, this.problem)] : []),
    ];
  }

  private async choose(file: File): Promise<void> {
    this.problem = '';
    try {
      await this.open(await this.openFile(file), file.name);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.again();
  }

  private compared(): Node[] {
    const steps = Math.min(this.steps[0].length, this.steps[1].length);
    return [
      el(
        'p',
        { id: 'aligned' },
        `B is ${this.name}. ` +
          (steps
            ? `The first ${count(steps)} steps of both lie below each other.`
            : `Both begin with their first work.${this.unaligned}`),
      ),
      el(
        'div',
        { class: 'row' },
        ...(this.tasks
          ? [button('Compare with ts-diff', () => void this.compare())]
          : []),
        button('Earlier', () => this.move(-1), 'Moves B to the left'),
        button('Later', () => this.move(1), 'Moves B to the right'),
      ),
      ...(this.tasks
        ? []
        : [
            el(
              'p',
              { class: 'faint' },
              'Steps, and differences with their significance: ts-studio A B',
            ),
          ]),
      ...(this.topics ?? []).flatMap((t) => this.topic(t)),
    ];
  }

  // By a twentieth of the window; then steps do not align any more.
  private move(direction: 1 | -1): void {
    const { app } = this;
    this.shift =
      this.offset((app.from + app.to) / 2) +
      (direction * (app.to - app.from)) / 20;
    this.steps = [[], []];
    this.unaligned = '';
    app.setLayer(layer, app.tracks.layers.get(layer));
    this.again();
  }

  private topic(topic: Topic): Node[] {
    const tables = Object.values(topic.tables).filter((t) => t.units.change);
    return [
      el('h3', {}, topic.title),
      el('p', {}, topic.answer),
      ...tables.map((t) =>
        table<Difference>(
          t.title,
          [
            { title: 'name', cell: (d) => d.name },
            { title: 'A', number: true, cell: (d) => this.value(t, 'a', d.a) },
            { title: 'B', number: true, cell: (d) => this.value(t, 'b', d.b) },
            {
              title: 'change',
              number: true,
              cell: (d) =>
                d.share === null ? '-' : `${(100 * d.share).toFixed(1)} %`,
            },
            {
              title: 'verdict',
              cell: (d) =>
                d.verdict ? d.verdict + (d.p ? `, p ${d.p}` : '') : '',
            },
          ],
          t.rows.slice(0, 50),
          (d) => this.go(d),
        ),
      ),
    ];
  }

  private value(
    t: { units: Record<string, string> },
    key: string,
    value: number | null,
  ): string {
    if (value === null) return '-';
    return t.units[key] === 'ns' ? duration(value) : count(value);
  }

  private go(d: Difference): void {
    if (d.evidence) this.app.zoomTo(d.evidence.from_ns, d.evidence.to_ns);
  }
}
