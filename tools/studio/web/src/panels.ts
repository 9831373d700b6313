// What stands beside the tracks: details, explanations, statistics, what-ifs.
import { bar, button, el, table } from './dom';
import { bytes, count, duration, moment, share, visible } from './format';
import { costColor, idleColor } from './palette';
import { ChangeType } from './engine';
import type { Change } from './engine';
import { RowType, noRef } from './wire';
import type { AreaSum, Device, Gap, Idle, Outcome, Reason, Sum } from './wire';
import type { App } from './app';

type Name =
  | 'details'
  | 'why'
  | 'idle'
  | 'area'
  | 'search'
  | 'whatif'
  | 'trace'
  | 'table'
  | 'help'
  | 'findings';

const causeWords: Record<string, string> = {
  host_late: 'the host launched too late',
  launch_latency: 'launches took their time to arrive',
  other_stream: 'kernels of other streams had to end first',
  copy: 'copies had to end first',
  collective: 'collectives had to end first',
  host_sync: 'the host was blocked in synchronisations',
  queue_full: 'launch queues were full',
  unexplained: 'nothing recorded says',
};

const keys: [string, string][] = [
  ['W / S', 'zoom in, out'],
  ['A / D', 'move left, right'],
  ['+ / -', 'zoom in, out by a step'],
  ['0', 'the whole trace'],
  ['← / →', 'previous, next box of the row'],
  ['↑ / ↓', 'the row above, below'],
  ['f', 'zoom to what is selected'],
  ['/', 'search names'],
  ['n / N', 'next, previous match'],
  ['e', 'why: what the selected one waited for'],
  ['i', 'why devices were idle'],
  ['p', 'critical path'],
  ['x', 'what if'],
  ['v', 'statistics of what is shown'],
  ['t', 'the same as a table'],
  ['r', 'about the trace'],
  ['m', 'dark, light'],
  ['Esc', 'close, unselect'],
  ['drag', 'move'],
  ['Shift + drag', 'select an area'],
  ['drag on the axis', 'select a time of all tracks'],
  ['Ctrl + wheel, pinch', 'zoom'],
  ['click on a name', 'fold, unfold'],
];

export class Panels {
  private readonly panel = document.getElementById('panel')!;
  private readonly tip = document.getElementById('tip')!;
  private readonly query = document.getElementById('query') as HTMLInputElement;
  private readonly buttons = new Map<Name, HTMLButtonElement>();
  private current: Name | undefined;
  private shown = 0; // a later answer wins
  private tipTimer = 0;
  private idle: Idle | undefined;
  private changes: { text: string; change: Change }[] = [];

  constructor(private readonly app: App) {
    app.onSelect = () => this.open(this.current === 'why' ? 'why' : 'details');
    app.onArea = () => this.open('area');
    this.makeButtons();
    this.query.addEventListener('input', () => void this.search());
    document.getElementById('search')!.addEventListener('submit', (e) => {
      e.preventDefault();
      void this.app.next(false);
    });
    this.query.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' || !e.shiftKey) return;
      e.preventDefault();
      void this.app.next(true);
    });
  }

  private makeButtons(): void {
    const nav = document.getElementById('tools')!;
    const tools: [Name, string, string][] = [
      ['idle', 'Idle', 'Why devices were idle (i)'],
      ['whatif', 'What if', 'Simulate a change (x)'],
      ['findings', 'Findings', 'What ts-analyze advises'],
      ['trace', 'Trace', 'About the trace (r)'],
      ['help', '?', 'Keys (?)'],
    ];
    const hasGraph = this.app.info.operations > 0;
    for (const [name, text, title] of tools) {
      if (!hasGraph && (name === 'idle' || name === 'whatif')) continue;
      if (name === 'findings' && !this.app.report?.findings.length) continue;
      const b = button(
        text,
        () => (this.current === name ? this.close() : this.open(name)),
        title,
      );
      b.setAttribute('aria-pressed', 'false');
      this.buttons.set(name, b);
      nav.append(b);
      if (name !== 'idle') continue;
      const path = button(
        'Path',
        () => void this.togglePath(),
        'Critical path (p)',
      );
      path.id = 'path';
      path.setAttribute('aria-pressed', 'false');
      nav.append(path);
    }
  }

  focusSearch(): void {
    this.query.focus();
    this.query.select();
  }

  escape(): void {
    if (this.current) this.close();
    else this.app.unselect();
  }

  close(): void {
    this.current = undefined;
    this.panel.hidden = true;
    this.shown++;
    for (const b of this.buttons.values())
      b.setAttribute('aria-pressed', 'false');
    document.getElementById('tracks')!.focus();
  }

  open(name: Name): void {
    this.current = name;
    this.panel.hidden = false;
    for (const [key, b] of this.buttons)
      b.setAttribute('aria-pressed', String(key === name));
    void this.fill(name);
  }

  private async fill(name: Name): Promise<void> {
    const turn = ++this.shown;
    const content = await this.content(name).catch((error: unknown) => [
      el(
        'p',
        { role: 'alert' },
        error instanceof Error ? error.message : String(error),
      ),
    ]);
    if (turn !== this.shown) return;
    const close = button('×', () => this.close(), 'Close (Esc)');
    close.className = 'close';
    close.setAttribute('aria-label', 'Close');
    this.panel.replaceChildren(close, ...content);
  }

  private content(name: Name): Promise<Node[]> {
    switch (name) {
      case 'details':
        return this.details();
      case 'why':
        return this.why();
      case 'idle':
        return this.idleTime();
      case 'area':
        return this.area();
      case 'search':
        return this.found();
      case 'whatif':
        return this.whatIf();
      case 'trace':
        return Promise.resolve(this.trace());
      case 'table':
        return Promise.resolve(this.asTable());
      case 'findings':
        return Promise.resolve(this.findings());
      case 'help':
        return Promise.resolve([
          el('h2', {}, 'Keys'),
          el(
            'dl',
            {},
            ...keys.flatMap(([key, what]) => [
              el('dt', {}, el('kbd', {}, key)),
              el('dd', {}, what),
            ]),
          ),
        ]);
    }
  }

  private at(ns: number): string {
    return moment(ns, (this.app.to - this.app.from) / 1e3);
  }

  /* ---- The tip ---- */

  hideTip(): void {
    clearTimeout(this.tipTimer);
    this.tip.hidden = true;
  }

  hover(x: number, y: number, clientX: number, clientY: number): void {
    const hit = this.app.boxAt(x, y);
    this.hideTip();
    this.app.hover = hit;
    this.app.changed();
    this.tipTimer = window.setTimeout(
      () => void this.showTip(x, y, clientX, clientY),
      hit ? 60 : 150,
    );
  }

  private async showTip(
    x: number,
    y: number,
    clientX: number,
    clientY: number,
  ): Promise<void> {
    const timer = this.tipTimer;
    const hit = this.app.boxAt(x, y);
    const found = hit
      ? { ...hit, label: this.app.labelOf(hit.box) }
      : await this.app.pick(x, y);
    if (!found || timer !== this.tipTimer) return;
    const row = this.app.tracks.row(found.row)!;
    const pairs = (await this.app.scene.event(found.box.ref)) ?? [];
    if (timer !== this.tipTimer) return;
    const counter = row.type === RowType.counter;
    this.tip.replaceChildren(
      el('strong', {}, counter ? row.name : (found.label?.text ?? '')),
      counter
        ? this.at(found.box.start)
        : `${duration(found.box.end - found.box.start)}, ` +
            `at ${this.at(found.box.start)}`,
      el(
        'dl',
        {},
        ...pairs
          .slice(0, 14)
          .flatMap(([name, value]) => [
            el('dt', {}, name),
            el('dd', {}, value.slice(0, 200)),
          ]),
      ),
    );
    this.tip.hidden = false;
    const width = this.tip.offsetWidth,
      height = this.tip.offsetHeight;
    this.tip.style.left = `${Math.max(
      4,
      Math.min(clientX + 14, innerWidth - width - 6),
    )}px`;
    this.tip.style.top = `${Math.max(
      4,
      clientY + 18 + height > innerHeight
        ? clientY - height - 10
        : clientY + 18,
    )}px`;
  }

  /* ---- Details and reasons ---- */

  private async details(): Promise<Node[]> {
    const { selected: s } = this.app;
    if (!s) return [el('p', {}, 'Nothing is selected.')];
    const row = this.app.tracks.row(s.row)!;
    const pairs = (await this.app.scene.event(s.box.ref)) ?? [];
    const nodes: Node[] = [
      el('h2', {}, s.label?.text ?? row.name),
      el(
        'dl',
        {},
        el('dt', {}, 'start'),
        el('dd', {}, this.at(s.box.start)),
        ...(row.type === RowType.counter
          ? []
          : [
              el('dt', {}, 'duration'),
              el('dd', {}, duration(s.box.end - s.box.start)),
            ]),
        ...pairs.flatMap(([name, value]) => [
          el('dt', {}, name),
          el('dd', {}, value),
        ]),
      ),
    ];
    nodes.push(...(await this.reasons(s.box.ref)));
    if (row.type === RowType.work && s.label)
      nodes.push(this.whatIfOf(s.label.id, s.box.ref, s.label.text));
    return nodes;
  }

  private async reasons(ref: bigint): Promise<Node[]> {
    if (!this.app.info.operations || ref === noRef) return [];
    const reasons = await this.app.scene.why(ref);
    if (!reasons?.length) return [];
    return [el('h3', {}, 'Why'), this.reasonList(reasons)];
  }

  private reasonList(reasons: Reason[]): Node {
    return el(
      'ol',
      { class: 'reasons' },
      ...reasons.map((r) => {
        const go = button(
          r.text,
          () => void this.app.go(r.ref, r.start, r.end),
          `${this.at(r.start)}, ${duration(r.end - r.start)}`,
        );
        go.className = 'link';
        return el('li', {}, go);
      }),
    );
  }

  private async why(): Promise<Node[]> {
    const { selected: s } = this.app;
    if (!s)
      return [el('p', {}, 'Select a kernel, a copy or a gap of a device.')];
    const reasons = await this.app.scene.why(s.box.ref);
    return [
      el('h2', {}, `Why: ${s.label?.text ?? ''}`),
      reasons?.length
        ? this.reasonList(reasons)
        : el('p', {}, 'Nothing is known of what it waited for.'),
    ];
  }

  /* ---- Idle time ---- */

  // The graph is loaded when somebody first asks, and adds rows.
  async graph(): Promise<Idle | undefined> {
    if (this.idle) return this.idle;
    this.app.say('Loading the graph of operations ...');
    this.idle = await this.app.scene.idle();
    await this.app.reload();
    this.app.say('');
    return this.idle;
  }

  private sentence(topic: string): Node | undefined {
    const answer = this.app.report?.answers.find((a) => a.topic === topic);
    return (
      answer &&
      el('p', { class: 'sentence', id: `answer-${topic}` }, answer.answer)
    );
  }

  private async idleTime(): Promise<Node[]> {
    const idle = await this.graph();
    if (!idle)
      return [el('p', {}, 'No operation of a device is in the trace.')];
    const swatch = (cause: number) => {
      const s = el('span', { class: 'swatch' });
      s.style.background = idleColor(cause);
      return s;
    };
    const causes = idle.causes
      .map((name, i) => ({ name, i, ...idle.total.causes[i]! }))
      .filter((c) => c.count)
      .sort((a, b) => b.ns - a.ns);
    const whole = idle.total.busy + idle.total.idle;
    return [
      el('h2', {}, 'Idle time of devices'),
      this.sentence('idle') ??
        el(
          'p',
          { class: 'sentence' },
          `Idle ${share(idle.total.idle, whole)} of the time ` +
            `(${duration(idle.total.idle)}).`,
        ),
      table<Device>(
        'By device',
        [
          { title: 'device', cell: (d) => d.name },
          { title: 'idle', number: true, cell: (d) => duration(d.idle) },
          {
            title: 'share',
            number: true,
            cell: (d) => share(d.idle, d.busy + d.idle),
          },
          {
            title: 'what for',
            cell: (d) =>
              bar(
                d.causes.map((c, i) => ({
                  ns: c.ns,
                  color: idleColor(i),
                  title: `${idle.causes[i]} ${share(c.ns, d.idle)}`,
                })),
                d.idle,
              ),
          },
        ],
        idle.devices,
        (d) => this.app.zoomTo(d.start, d.end),
      ),
      table(
        'By cause',
        [
          {
            title: 'cause',
            cell: (c: (typeof causes)[0]) =>
              el(
                'span',
                {},
                swatch(c.i),
                c.name,
                el('span', { class: 'faint' }, `: ${causeWords[c.name] ?? ''}`),
              ),
          },
          { title: 'idle', number: true, cell: (c) => duration(c.ns) },
          {
            title: 'share',
            number: true,
            cell: (c) => share(c.ns, idle.total.idle),
          },
          { title: 'gaps', number: true, cell: (c) => count(c.count) },
        ],
        causes,
      ),
      table<Gap>(
        'The longest gaps: press one to see what led to it',
        [
          { title: 'idle', cell: (g) => duration(g.end - g.start) },
          {
            title: 'cause',
            cell: (g) =>
              el(
                'span',
                {},
                swatch(g.cause),
                idle.causes[g.cause]! + (g.guess ? '?' : ''),
              ),
          },
          {
            title: 'device',
            cell: (g) => idle.devices.find((d) => d.track === g.track)?.name,
          },
          { title: 'at', number: true, cell: (g) => this.at(g.start) },
        ],
        idle.gaps,
        (g) => void this.app.go(g.ref, g.start, g.end),
      ),
    ];
  }

  /* ---- Areas ---- */

  selectWindow(): void {
    const { app } = this;
    app.area = {
      from: app.from,
      to: app.to,
      top: 0,
      bottom: app.tracks.height,
    };
    app.onArea();
    app.changed();
  }

  private async area(): Promise<Node[]> {
    const { area } = this.app;
    if (!area) return [el('p', {}, 'Drag with Shift to select an area.')];
    const rows = this.app.tracks
      .between(area.top, area.bottom)
      .map((l) => l.row!)
      .filter(
        (r) =>
          r.type !== RowType.counter &&
          r.type !== RowType.path &&
          r.type !== RowType.ghost,
      );
    const sums = await this.app.scene.area(
      area.from,
      area.to,
      rows.map((r) => r.id),
    );
    const total = sums.reduce((n, s) => n + s.count, 0);
    return [
      el('h2', {}, `${duration(area.to - area.from)} selected`),
      el(
        'p',
        { class: 'faint' },
        `${count(total)} boxes of ` +
          `${count(sums.length)} names on ${count(rows.length)} rows, from ` +
          `${this.at(area.from)}. Times are those within the area.`,
      ),
      table<AreaSum>(
        'By name',
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
          { title: 'longest', number: true, cell: (s) => duration(s.most) },
        ],
        sums.slice(0, 200),
        (s) => this.searchFor(s.text),
      ),
    ];
  }

  /* ---- Search ---- */

  private searchFor(text: string): void {
    this.query.value = text;
    void this.search();
  }

  async search(): Promise<void> {
    const text = this.query.value;
    const n = await this.app.search(text);
    document.getElementById('found')!.textContent = text
      ? `${count(n)} found`
      : '';
    if (text) this.open('search');
    else if (this.current === 'search') this.close();
    this.query.focus();
  }

  private async found(): Promise<Node[]> {
    const found = await this.app.scene.search(this.app.query);
    const sums = found.sums.sort((a, b) => b.total - a.total);
    return [
      el('h2', {}, `Names with '${visible(this.app.query)}'`),
      table<Sum>(
        `${count(found.found)} names; Enter goes to the next box`,
        [
          { title: 'name', cell: (s) => s.text },
          { title: 'total', number: true, cell: (s) => duration(s.total) },
          { title: 'count', number: true, cell: (s) => count(s.count) },
          {
            title: 'mean',
            number: true,
            cell: (s) => duration(s.total / s.count),
          },
        ],
        sums.slice(0, 200),
        (s) => {
          this.searchFor(s.text);
          void this.app.next(false);
        },
      ),
    ];
  }

  /* ---- The critical path ---- */

  async togglePath(): Promise<void> {
    const { app } = this;
    app.path = !app.path;
    document
      .getElementById('path')
      ?.setAttribute('aria-pressed', String(app.path));
    if (app.path) {
      await this.graph();
      const path = await app.scene.path();
      await app.reload();
      app.scrollTo(0);
      if (path)
        app.say(
          `Critical path: ${path.costs
            .filter((c) => c.ns > 0)
            .sort((a, b) => b.ns - a.ns)
            .map((c) => `${c.name} ${duration(c.ns)}`)
            .join(', ')}`,
        );
    }
    app.changed();
  }

  /* ---- What if ---- */

  private whatIfOf(label: number, ref: bigint, text: string): Node {
    const change = (type: number, num: number, den: number, one: boolean) => ({
      type,
      num,
      den,
      ns: 0,
      labels: one ? [] : [label],
      refs: one ? [ref] : [],
    });
    const run = (what: string, c: Change) => () => {
      this.changes.push({ text: what, change: c });
      this.open('whatif');
    };
    return el(
      'div',
      {},
      el('h3', {}, 'What if'),
      el(
        'div',
        { class: 'row' },
        button(
          'all of this name take half the time',
          run(`${text}: half the time`, change(ChangeType.scale, 1, 2, false)),
        ),
        button(
          'all of this name took no time',
          run(`${text}: removed`, change(ChangeType.remove, 0, 0, false)),
        ),
        button(
          'this one took no time',
          run(`one ${text}: removed`, change(ChangeType.remove, 0, 0, true)),
        ),
      ),
    );
  }

  private async whatIf(): Promise<Node[]> {
    await this.graph();
    const outcome = await this.app.scene.whatif(
      this.changes.map((c) => c.change),
    );
    this.app.outcome = outcome;
    await this.app.reload();
    return [
      el('h2', {}, 'What if'),
      ...this.outcomeOf(outcome),
      ...this.changeList(),
      this.changeForm(),
    ];
  }

  private outcomeOf(o: Outcome | undefined): Node[] {
    if (!o) return [el('p', {}, 'There is nothing to simulate.')];
    if (!this.changes.length)
      return [
        el(
          'p',
          { class: 'sentence' },
          `The run took ${duration(o.recorded)}; the model says ` +
            `${duration(o.model)}. Add a change to see what it would do.`,
        ),
      ];
    const gain = o.model - o.changed;
    return [
      el(
        'p',
        { class: 'sentence', id: 'makespan' },
        `${duration(o.model)} would be ${duration(o.changed)}: ` +
          `${duration(Math.abs(gain))} (${share(Math.abs(gain), o.model)}) ` +
          `${gain >= 0 ? 'less' : 'more'}.`,
      ),
      el(
        'p',
        { class: 'faint' },
        `Bound by ${o.names[o.bound]}` +
          (o.bound === o.boundBefore
            ? ' as before'
            : `, before by ${o.names[o.boundBefore]}`) +
          '. The simulated operations stand under those of each stream.',
      ),
      table(
        'The critical path',
        [
          {
            title: 'spent on',
            cell: (i: number) => {
              const s = el('span', { class: 'swatch' });
              s.style.background = costColor(i);
              return el('span', {}, s, o.names[i]!);
            },
          },
          {
            title: 'before',
            number: true,
            cell: (i) => duration(o.before[i]!),
          },
          { title: 'then', number: true, cell: (i) => duration(o.after[i]!) },
        ],
        o.names.map((_, i) => i).filter((i) => o.before[i] || o.after[i]),
      ),
    ];
  }

  private changeList(): Node[] {
    if (!this.changes.length) return [];
    return [
      el('h3', {}, 'Changes'),
      el(
        'ul',
        {},
        ...this.changes.map((c) =>
          el(
            'li',
            {},
            `${c.text} `,
            button('drop', () => {
              this.changes = this.changes.filter((x) => x !== c);
              this.open('whatif');
            }),
          ),
        ),
      ),
    ];
  }

  private changeForm(): Node {
    const kind = el(
      'select',
      { 'aria-label': 'Change' },
      ...[
        ['scale', 'operations take a factor of their time'],
        ['remove', 'operations are removed'],
        ['host', 'the host takes a factor of its time'],
        ['noLaunch', 'launches cost nothing'],
        ['overlap', 'no kernel waits for a copy'],
      ].map(([value, text]) => el('option', { value: value! }, text)),
    );
    const pattern = el('input', {
      placeholder: 'names: regular expression',
      'aria-label': 'Names',
      size: '22',
    });
    const factor = el('input', {
      type: 'number',
      value: '0.5',
      min: '0',
      max: '1000',
      step: 'any',
      'aria-label': 'Factor',
    });
    const problem = el('p', { role: 'alert' });
    const form = el(
      'form',
      {},
      el('h3', {}, 'Add a change'),
      el('div', { class: 'row' }, kind),
      el(
        'div',
        { class: 'row' },
        pattern,
        factor,
        el('button', { type: 'submit' }, 'Simulate'),
      ),
      problem,
    );
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      this.addChange(
        kind.value as keyof typeof ChangeType,
        pattern.value,
        Number(factor.value),
      ).catch((error: unknown) => {
        problem.replaceChildren(error instanceof Error ? error.message : '');
      });
    });
    return form;
  }

  private async addChange(
    kind: keyof typeof ChangeType,
    pattern: string,
    factor: number,
  ): Promise<void> {
    const named = kind === 'scale' || kind === 'remove';
    const scaled = kind === 'scale' || kind === 'host';
    if (scaled && !(factor >= 0 && factor <= 1000))
      throw new Error('A factor is between 0 and 1000.');
    let labels: number[] = [];
    if (named) {
      const regex = new RegExp(pattern);
      labels = (await this.app.scene.labels())
        .filter((l) => l.kind >= 16 && l.kind < 64 && regex.test(l.text))
        .map((l) => l.id);
      if (!labels.length) throw new Error('No operation has such a name.');
    }
    const what = named ? `/${pattern}/` : kind === 'host' ? 'host' : '';
    const text =
      kind === 'noLaunch'
        ? 'launches cost nothing'
        : kind === 'overlap'
          ? 'no kernel waits for a copy'
          : scaled
            ? `${what} × ${factor}`
            : `${what} removed`;
    this.changes.push({
      text,
      change: {
        type: ChangeType[kind],
        num: scaled ? Math.round(factor * 1000) : 0,
        den: scaled ? 1000 : 0,
        ns: 0,
        labels,
        refs: [],
      },
    });
    this.open('whatif');
  }

  /* ---- The trace, findings, the view as a table ---- */

  private trace(): Node[] {
    const { info } = this.app;
    const session = info.metadata.filter((m) => !m.track);
    const nodes: Node[] = [
      el('h2', {}, 'The trace'),
      el(
        'dl',
        {},
        ...[
          ['lasts', duration(info.last - info.first)],
          ['size', bytes(info.bytes)],
          [
            'started',
            info.realtime
              ? new Date(Number(info.realtime / 1000000n)).toISOString()
              : 'unknown',
          ],
          ['events', count(info.counts.reduce((a, b) => a + b, 0))],
          ['operations of devices', count(info.operations)],
          [
            'state',
            info.live
              ? 'still being written'
              : info.finished
                ? 'complete'
                : 'its program was killed',
          ],
          ['salvaged', `${count(info.salvaged)} records`],
          ['lost', `${count(info.lost)} records`],
          ['damaged parts', count(info.damages)],
        ].flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
      ),
    ];
    if (info.losses.length)
      nodes.push(
        table(
          'Losses',
          [
            { title: 'cause', cell: (l: (typeof info.losses)[0]) => l.cause },
            { title: 'records', number: true, cell: (l) => count(l.count) },
            { title: 'from', number: true, cell: (l) => this.at(l.first) },
            { title: 'to', number: true, cell: (l) => this.at(l.last) },
          ],
          info.losses,
          (l) => this.app.zoomTo(l.first, l.last),
        ),
      );
    for (const topic of this.app.report?.answers ?? [])
      nodes.push(el('h3', {}, topic.title), el('p', {}, topic.answer));
    if (session.length)
      nodes.push(
        table(
          'Metadata',
          [
            { title: 'key', cell: (m: (typeof session)[0]) => m.key },
            { title: 'value', cell: (m) => m.value },
          ],
          session,
        ),
      );
    return nodes;
  }

  private findings(): Node[] {
    const nodes: Node[] = [el('h2', {}, 'Findings')];
    for (const f of this.app.report?.findings ?? []) {
      nodes.push(
        el('h3', {}, f.title),
        el('p', {}, f.what),
        el('p', {}, `Do: ${f.todo}`),
      );
      if (f.gain_ns !== null)
        nodes.push(
          el(
            'p',
            { class: 'faint' },
            `Gain: ${duration(f.gain_ns)} of ` +
              `${duration(f.of_ns)}. ${f.how}`,
          ),
        );
      if (f.from_ns !== null && f.to_ns !== null) {
        const { from_ns: from, to_ns: to } = f;
        nodes.push(button('Show where', () => this.app.zoomTo(from, to)));
      }
    }
    return nodes;
  }

  // What is shown, for those who cannot see it.
  private asTable(): Node[] {
    const { app } = this;
    const lines = app.tracks.between(
      app.scroll,
      app.scroll + app.painter.height,
    );
    const boxes = lines
      .flatMap((line) =>
        (app.painter.viewOf(line.row!.id)?.boxes ?? [])
          .filter((b) => b.end > app.from && b.start < app.to)
          .map((box) => ({ line, box })),
      )
      .slice(0, 400);
    const view = (row: number) => app.painter.viewOf(row);
    const busy = (row: number) => {
      const b = view(row)?.busy;
      return b?.length ? b.reduce((sum, x) => sum + x, 0) / b.length / 255 : 0;
    };
    return [
      el('h2', {}, 'What is shown, as tables'),
      el('p', { class: 'faint' }, `${this.at(app.from)} to ${this.at(app.to)}`),
      table(
        'Rows',
        [
          {
            title: 'track',
            cell: (l: (typeof lines)[0]) =>
              `${l.row!.name}${l.row!.part ? `, level ${l.row!.part + 1}` : ''}`,
          },
          { title: 'boxes', number: true, cell: (l) => count(l.row!.count) },
          {
            title: 'busy',
            number: true,
            cell: (l) =>
              l.row!.type === RowType.counter ? '-' : share(busy(l.row!.id), 1),
          },
        ],
        lines,
      ),
      table(
        'Boxes wide enough to be seen',
        [
          {
            title: 'name',
            cell: (b: (typeof boxes)[0]) => app.labelOf(b.box)?.text,
          },
          { title: 'track', cell: (b) => b.line.row!.name },
          { title: 'start', number: true, cell: (b) => this.at(b.box.start) },
          {
            title: 'duration',
            number: true,
            cell: (b) => duration(b.box.end - b.box.start),
          },
        ],
        boxes,
        (b) => app.select(b.line.row!.id, b.box, app.labelOf(b.box)),
      ),
    ];
  }
}
