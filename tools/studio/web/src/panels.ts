// What stands beside the tracks: details, explanations, statistics, what-ifs.
import { button, el, table } from './dom';
import { count, duration, visible } from './format';
import { IdlePanel } from './idle';
import { WhatIfPanel } from './whatif';
import { findingNodes, tableNodes, traceNodes } from './tables';
import { RowType, noRef } from './wire';
import type { AreaSum, Reason, Sum } from './wire';
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
  ['click on a name', 'fold, unfold; with Shift: pin to the top'],
];

export class Panels {
  private readonly panel = document.getElementById('panel')!;
  private readonly tip = document.getElementById('tip')!;
  private readonly query = document.getElementById('query') as HTMLInputElement;
  private readonly buttons = new Map<Name, HTMLButtonElement>();
  private current: Name | undefined;
  private shown = 0; // a later answer wins
  private tipTimer = 0;
  private readonly idle: IdlePanel;
  private readonly whatIf: WhatIfPanel;

  constructor(private readonly app: App) {
    this.idle = new IdlePanel(app);
    this.whatIf = new WhatIfPanel(
      app,
      () => this.graph(),
      () => this.open('whatif'),
    );
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
        return this.idle.content();
      case 'area':
        return this.area();
      case 'search':
        return this.found();
      case 'whatif':
        return this.whatIf.content();
      case 'trace':
        return Promise.resolve(traceNodes(this.app));
      case 'table':
        return Promise.resolve(tableNodes(this.app));
      case 'findings':
        return Promise.resolve(findingNodes(this.app));
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

  graph() {
    return this.idle.graph();
  }

  // After the trace has grown.
  forget(): void {
    this.idle.forget();
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
        ? this.app.at(found.box.start)
        : `${duration(found.box.end - found.box.start)}, ` +
            `at ${this.app.at(found.box.start)}`,
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
        el('dd', {}, this.app.at(s.box.start)),
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
      nodes.push(this.whatIf.of(s.label.id, s.box.ref, s.label.text));
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
          `${this.app.at(r.start)}, ${duration(r.end - r.start)}`,
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
          `${this.app.at(area.from)}. Times are those within the area.`,
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
        `${count(found.found)} names${this.app.tracks.whole ? '' : ' in the loaded part'}; Enter goes to ` +
          'the next box',
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
    app.path = app.tracks.path = !app.path;
    app.tracks.lay();
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
}
