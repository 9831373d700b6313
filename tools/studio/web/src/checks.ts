// What ts-replay says of the trace, on the timeline: races, results of an
// execution, differences between two runs.
import { button, el, table } from './dom';
import { count } from './format';
import { ItemLayer } from './layers';
import type { Item } from './layers';
import type { Tasks } from './tasks';
import { noRef } from './wire';
import type { App } from './app';

interface Operand {
  kind: string;
  label: string;
  track_name: string;
  zone: string | null;
  start_ns: number;
  end_ns: number;
}

interface Races {
  known: number;
  operations: number;
  races: {
    kind: string;
    instances: number;
    address: number;
    size: number;
    first: Operand;
    second: Operand;
  }[];
}

interface Execution {
  diverged: number;
  operations: {
    operation: number;
    kind: string;
    name: string;
    outcome: string;
    reason?: string;
    diverged: boolean;
  }[];
}

interface Verified {
  matched: number;
  list: {
    what: string;
    time_ns: number;
    a: { name?: string; kind: string; duration_ns?: number } | null;
  }[];
}

interface Finding extends Item {
  what: string;
}

const layer = 3;

export class ChecksPanel {
  private said = '';
  private findings: Finding[] = [];
  private running = false;

  constructor(
    private readonly app: App,
    private readonly tasks: Tasks,
    private readonly hasSecond: boolean,
    private readonly again: () => void,
  ) {}

  private async run(check: () => Promise<void>): Promise<void> {
    if (this.running) return;
    this.running = true;
    this.said = 'Running ...';
    this.findings = [];
    this.again();
    await check().catch((error: unknown) => {
      this.said = error instanceof Error ? error.message : String(error);
    });
    this.running = false;
    this.app.setLayer(
      layer,
      this.findings.length
        ? new ItemLayer(layer, 'Check', this.findings)
        : undefined,
    );
    if (this.findings.length) this.app.scrollTo(0);
    this.again();
  }

  private async races(): Promise<void> {
    const all = await this.tasks.json<Races>('races');
    this.said =
      `${count(all.races.length)} races; accessed memory is known for ` +
      `${count(all.known)} of ${count(all.operations)} operations.`;
    const side = (o: Operand, kind: string): Finding => ({
      start: o.start_ns,
      end: o.end_ns,
      name: `${kind}: ${o.kind} ${o.label}`,
      what: `on ${o.track_name}${o.zone ? `, in zone ${o.zone}` : ''}`,
    });
    this.findings = all.races.flatMap((r) => [
      side(r.first, r.kind),
      side(r.second, r.kind),
    ]);
  }

  private async execute(): Promise<void> {
    const all = await this.tasks.json<Execution>('execute');
    const times = await this.app.scene.operations(
      all.operations.map((o) => o.operation),
    );
    this.said =
      `${count(all.operations.length)} operations, ` +
      `${count(all.diverged)} diverged.`;
    this.findings = all.operations.flatMap((o, i) => {
      const at = times?.[i];
      if (!at || at.ref === noRef) return [];
      const outcome = o.diverged ? 'diverged' : o.outcome;
      return [
        {
          start: at.start,
          end: at.end,
          name: `${outcome}: ${o.kind} ${o.name}`,
          what: o.reason ?? '',
        },
      ];
    });
    this.findings.sort(
      (a, b) =>
        Number(b.name.startsWith('diverged')) -
        Number(a.name.startsWith('diverged')),
    );
  }

  private async verify(): Promise<void> {
    const all = await this.tasks.json<Verified>('verify');
    this.said =
      `${count(all.matched)} operations match, ` +
      `${count(all.list.length)} differences are listed.`;
    this.findings = all.list.map((d) => ({
      start: d.time_ns,
      end: d.time_ns + (d.a?.duration_ns ?? 0),
      name: `${d.what}: ${d.a?.name ?? d.a?.kind ?? 'only in B'}`,
      what: d.what,
    }));
  }

  content(): Node[] {
    const press = (check: () => Promise<void>) => () => void this.run(check);
    return [
      el('h2', {}, 'Checks'),
      el(
        'div',
        { class: 'row' },
        ...(this.running
          ? [button('Cancel', () => void this.tasks.cancel())]
          : [
              button(
                'Races',
                press(() => this.races()),
                'Operations that access the same memory without an order',
              ),
              button(
                'Execute',
                press(() => this.execute()),
                'Run captured operations again, and compare their results',
              ),
              ...(this.hasSecond
                ? [
                    button(
                      'Verify',
                      press(() => this.verify()),
                      'Whether both traces did the same',
                    ),
                  ]
                : []),
            ]),
      ),
      el('p', { id: 'checked', role: 'status' }, this.said),
      ...(this.findings.length
        ? [
            table<Finding>(
              `${count(this.findings.length)} findings, which are the track ` +
                'Check' +
                (this.findings.length > 500 ? '; the first 500' : ''),
              [
                { title: 'what', cell: (f) => f.name },
                { title: 'where', cell: (f) => f.what },
                {
                  title: 'at',
                  number: true,
                  cell: (f) => this.app.at(f.start),
                },
              ],
              this.findings.slice(0, 500),
              (f) => this.app.zoomTo(f.start, f.end),
            ),
          ]
        : []),
    ];
  }
}
