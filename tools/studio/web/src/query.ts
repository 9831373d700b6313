// SQL, which the server runs; rows of a query as a track of their own.
import { button, el, table } from './dom';
import { count } from './format';
import { ItemLayer } from './layers';
import type { Item } from './layers';
import { Tasks, download } from './tasks';
import type { App } from './app';

type Value = string | number | null;
type Result = { columns: string[]; rows: Record<string, Value>[] };
type Answer = { results: Result[]; complete: boolean };

const layer = 1;
const example =
  'SELECT name, count(*) AS n, sum(duration_ns) AS total_ns\n' +
  'FROM gpu_op GROUP BY name ORDER BY total_ns DESC';

// Whole numbers that JavaScript would round become texts.
export function exact(json: string): string {
  return json.replace(
    /"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?![\d.eE])/g,
    (all) =>
      all[0] === '"' || Number.isSafeInteger(Number(all)) ? all : `"${all}"`,
  );
}

export class QueryPanel {
  private text = example;
  private answer: Answer | undefined;
  private problem = '';
  private running = false;

  constructor(
    private readonly app: App,
    private readonly tasks: Tasks,
    private readonly again: () => void,
  ) {}

  private async run(): Promise<void> {
    if (this.running) return;
    this.running = true;
    this.problem = '';
    this.answer = undefined;
    this.again();
    try {
      const text = await this.tasks.run('sql', this.text);
      this.answer = JSON.parse(exact(text)) as Answer;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.running = false;
    this.again();
  }

  private async csv(): Promise<void> {
    try {
      const text = await this.tasks.run('csv', this.text);
      download('query.csv', new Blob([text], { type: 'text/csv' }));
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.again();
    }
  }

  private get csvTitle(): string {
    return this.answer!.complete ? 'CSV' : 'CSV of the first 10,000 rows';
  }

  content(): Node[] {
    const input = el('textarea', {
      id: 'sql',
      rows: '6',
      spellcheck: 'false',
      'aria-label': 'SQL',
      input: () => (this.text = input.value),
      keydown: (e: Event) => {
        const key = e as KeyboardEvent;
        if (key.key !== 'Enter' || !(key.ctrlKey || key.metaKey)) return;
        e.preventDefault();
        void this.run();
      },
    });
    input.value = this.text;
    return [
      el('h2', {}, 'SQL'),
      el(
        'p',
        { class: 'faint' },
        'Tables of ts-query: gpu_op, zone, api_call, counter, memory, ... ' +
          'Ctrl + Enter runs it: at most 10,000 rows and 60 s, reading only.',
      ),
      input,
      el(
        'div',
        { class: 'row' },
        this.running
          ? button('Cancel', () => void this.tasks.cancel())
          : button('Run', () => void this.run()),
        ...(this.answer
          ? [button(this.csvTitle, () => void this.csv(), 'Rows as a file')]
          : []),
        ...this.trackButton(),
      ),
      ...(this.running ? [el('p', { role: 'status' }, 'Running ...')] : []),
      ...(this.problem ? [el('p', { role: 'alert' }, this.problem)] : []),
      ...(this.answer?.results ?? []).map((r) => this.table(r)),
    ];
  }

  private table(result: Result): Node {
    const most = 500;
    const rows = result.rows.length;
    const more = !this.answer!.complete;
    return table<Record<string, Value>>(
      `${count(rows)} rows` +
        (more ? ', and there are more' : '') +
        (rows > most ? `; the first ${most}` : ''),
      result.columns.map((name) => ({
        title: name,
        number: result.rows.some((r) => typeof r[name] === 'number'),
        cell: (r) => (r[name] === null ? 'NULL' : String(r[name])),
      })),
      result.rows.slice(0, most),
      this.items(result) && ((r) => this.go(result, r)),
    );
  }

  /* ---- Rows with times ---- */

  private static column(result: Result, names: string[]): string | undefined {
    return names.find((n) => result.columns.includes(n));
  }

  // Rows as boxes, if they have a time: ts, dur and name, or as in tables.
  private items(result: Result | undefined): Item[] | undefined {
    if (!result?.rows.length) return undefined;
    const start = QueryPanel.column(result, ['ts', 'start_ns', 'time_ns']);
    const time = QueryPanel.column(result, ['dur', 'duration_ns']);
    const name = QueryPanel.column(result, ['name', 'kind', 'text']);
    if (!start) return undefined;
    return result.rows
      .filter((r) => typeof r[start] === 'number')
      .map((r) => ({
        start: r[start] as number,
        end: (r[start] as number) + (time ? Number(r[time] ?? 0) : 0),
        name: name ? String(r[name]) : 'row',
      }));
  }

  private go(result: Result, row: Record<string, Value>): void {
    const item = this.items({ ...result, rows: [row] })?.[0];
    if (item) this.app.zoomTo(item.start, item.end);
  }

  private trackButton(): Node[] {
    const items = this.items(this.answer?.results.at(-1));
    const shown = this.app.tracks.layers.has(layer);
    const show = (made: ItemLayer | undefined) => {
      this.app.setLayer(layer, made);
      if (made) this.app.scrollTo(0);
      this.again();
    };
    return [
      ...(items
        ? [
            button(
              'Show as a track',
              () => show(new ItemLayer(layer, 'Query', items)),
              'Rows with ts and dur, or start_ns and duration_ns, and name',
            ),
          ]
        : []),
      ...(shown ? [button('Remove the track', () => show(undefined))] : []),
    ];
  }
}
