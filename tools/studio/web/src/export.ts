// A view as a picture, a part of the trace as a file.
import { button, el } from './dom';
import { duration } from './format';
import { Tasks, download } from './tasks';
import type { App } from './app';

export class ExportPanel {
  private said = '';

  constructor(
    private readonly app: App,
    private readonly name: string,
    private readonly tasks: Tasks | undefined,
    private readonly again: () => void,
  ) {}

  private get base(): string {
    return this.name.replace(/\.sbt$/, '').replace(/[^\w.-]/g, '_') || 'trace';
  }

  private svg(): void {
    const { app } = this;
    const text = app.painter.svg(app.picture());
    download(`${this.base}.svg`, new Blob([text], { type: 'image/svg+xml' }));
  }

  private png(): void {
    const canvas = document.getElementById('tracks') as HTMLCanvasElement;
    canvas.toBlob((blob) => {
      if (blob) download(`${this.base}.png`, blob);
    }, 'image/png');
  }

  // What is selected, else what is shown, in times of the trace.
  private range(): [number, number] {
    const { app } = this;
    const at = app.area ?? { from: app.from, to: app.to };
    const time = (ns: number) => Math.max(0, Math.round(ns));
    return [time(at.from), time(at.to)];
  }

  private async file(what: string, suffix: string): Promise<void> {
    const [from, to] = this.range();
    this.said = 'Running ...';
    this.again();
    try {
      const blob = await this.tasks!.file(`${what} ${from} ${to}`);
      download(`${this.base}-part${suffix}`, blob);
      this.said = `${blob.size} bytes`;
    } catch (error) {
      this.said = error instanceof Error ? error.message : String(error);
    }
    this.again();
  }

  private async csv(): Promise<void> {
    const [from, to] = this.range();
    const columns = 'start_ns, duration_ns, name';
    const where = `start_ns < ${to} AND start_ns + duration_ns > ${from}`;
    const part = (kind: string, table: string) =>
      `SELECT '${kind}' AS kind, ${columns} FROM ${table} WHERE ${where}`;
    this.said = 'Running ...';
    this.again();
    try {
      const text = await this.tasks!.run(
        'csv',
        [
          part('operation', 'gpu_op'),
          part('call', 'api_call'),
          part('zone', 'zone'),
        ].join(' UNION ALL ') + ' ORDER BY start_ns',
      );
      download(`${this.base}-part.csv`, new Blob([text], { type: 'text/csv' }));
      const rows = text.split('\n').length - 2;
      this.said = rows < 10000 ? `${rows} rows` : 'the first 10,000 rows';
    } catch (error) {
      this.said = error instanceof Error ? error.message : String(error);
    }
    this.again();
  }

  content(): Node[] {
    const [from, to] = this.range();
    return [
      el('h2', {}, 'Export'),
      el('h3', {}, 'The view as a picture'),
      el(
        'div',
        { class: 'row' },
        button('SVG', () => this.svg()),
        button('PNG', () => this.png()),
      ),
      el('h3', {}, 'A part of the trace'),
      ...(this.tasks
        ? [
            el(
              'p',
              { class: 'faint' },
              `${duration(to - from)}: the selected area's time, else what is ` +
                'shown.',
            ),
            el(
              'div',
              { class: 'row' },
              button('SBT', () => void this.file('cut', '.sbt')),
              button('Perfetto', () => void this.file('perfetto', '.pftrace')),
              button('CSV', () => void this.csv()),
              button('Cancel', () => void this.tasks!.cancel()),
            ),
          ]
        : [
            el(
              'p',
              { class: 'faint' },
              'The server exports parts (ts-studio FILE); so do ts-cut and ' +
                'ts-export.',
            ),
          ]),
      el('p', { id: 'exported', role: 'status' }, this.said),
    ];
  }
}
