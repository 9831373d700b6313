// What stands beside the tracks: details, explanations, statistics, what-ifs.
import { AreaPanel } from './areapanel';
import { button, el, table } from './dom';
import { count, duration, visible } from './format';
import { IdlePanel } from './idle';
import { ChecksPanel } from './checks';
import { ComparePanel } from './compare';
import type { Engine } from './engine';
import { ExportPanel } from './export';
import { QueryPanel } from './query';
import { Tasks } from './tasks';
import { TrackList } from './tracklist';
import { WhatIfPanel } from './whatif';
import { findingNodes, tableNodes, traceNodes } from './tables';
import { RowType, noRef } from './wire';
import type { Reason, Sum } from './wire';
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
  | 'tracks'
  | 'notes'
  | 'compare'
  | 'query'
  | 'checks'
  | 'export'
  | 'findings';

// Those that a link can open.
const linked: Name[] = [
  'details',
  'why',
  'idle',
  'area',
  'whatif',
  'trace',
  'table',
  'help',
  'tracks',
  'notes',
  'compare',
  'export',
  'findings',
];

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
  ['o', 'arrows of all that is shown'],
  ['k', 'tracks: hide, pin, sort, filter'],
  ['h', 'hide the track of what is selected'],
  ['P', 'pin that track to the top'],
  ['b', 'bookmarks and notes'],
  ['c', 'compare with a second trace'],
  ['q', 'SQL (of a server)'],
  ['y', 'races, execution, verification (of a server)'],
  ['g', 'export: pictures, parts of the trace'],
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
  private readonly trackList: TrackList;
  private readonly areaPanel: AreaPanel;

  readonly compare: ComparePanel;
  private readonly export: ExportPanel;
  private readonly query_: QueryPanel | undefined;
  private readonly checks: ChecksPanel | undefined;

  constructor(
    private readonly app: App,
    name: string,
    hasSecond: boolean,
    openFile: (file: File) => Promise<Engine>,
  ) {
    const tasks = Tasks.of(app.scene.engine);
    const again = (panel: Name) => () => {
      if (this.current === panel) this.open(panel);
    };
    this.compare = new ComparePanel(
      app,
      hasSecond ? tasks : undefined,
      openFile,
      again('compare'),
    );
    this.export = new ExportPanel(
      app,
      name,
      tasks?.another(),
      again('export'),
    );
    if (tasks) {
      this.query_ = new QueryPanel(app, tasks.another(), again('query'));
      this.checks = new ChecksPanel(
        app,
        tasks.another(),
        hasSecond,
        again('checks'),
      );
    }
    this.idle = new IdlePanel(app);
    this.areaPanel = new AreaPanel(
      app,
      () => this.open('area'),
      (text) => this.searchFor(text),
    );
    this.trackList = new TrackList(app, () => this.open('tracks'));
    this.whatIf = new WhatIfPanel(
      app,
      () => this.graph(),
      () => this.open('whatif'),
    );
    app.onSelect = () => this.open(this.current === 'why' ? 'why' : 'details');
    app.onArea = () => {
      this.areaPanel.forget();
      this.open('area');
    };
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
      ['tracks', 'Tracks', 'Hide, pin, sort and filter tracks (k)'],
      ['notes', 'Notes', 'Bookmarks and notes (b)'],
      ['compare', 'Compare', 'Compare with a second trace (c)'],
      ['query', 'SQL', 'Run a query (q)'],
      ['checks', 'Checks', 'Races, execution, verification (y)'],
      ['export', 'Export', 'Pictures, parts of the trace (g)'],
      ['trace', 'Trace', 'About the trace (r)'],
      ['help', '?', 'Keys (?)'],
    ];
    const hasGraph = this.app.info.operations > 0;
    for (const [name, text, title] of tools) {
      if (!hasGraph && (name === 'idle' || name === 'whatif')) continue;
      if (name === 'query' && !this.query_) continue;
      if (name === 'checks' && (!this.checks || !hasGraph)) continue;
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
    this.panel.replaceChildren();
    this.shown++;
    this.areaPanel.stop();
    for (const b of this.buttons.values())
      b.setAttribute('aria-pressed', 'false');
    document.getElementById('tracks')!.focus();
  }

  // Empty until its content is known: nobody types into the one before.
  private show(name: Name): void {
    if (name !== this.current) this.panel.replaceChildren();
    this.current = name;
    this.panel.hidden = false;
  }

  open(name: Name): void {
    this.show(name);
    for (const [key, b] of this.buttons)
      b.setAttribute('aria-pressed', String(key === name));
    void this.fill(name);
  }

  private async fill(name: Name): Promise<void> {
    const turn = ++this.shown;
    this.areaPanel.stop();
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
        return this.areaPanel.content();
      case 'search':
        return this.found();
      case 'whatif':
        return this.whatIf.content();
      case 'trace':
        return Promise.resolve(traceNodes(this.app));
      case 'table':
        return Promise.resolve(tableNodes(this.app));
      case 'compare':
        return Promise.resolve(this.compare.content());
      case 'query':
        return Promise.resolve(this.query_?.content() ?? this.needsServer());
      case 'checks':
        return Promise.resolve(this.checks?.content() ?? this.needsServer());
      case 'export':
        return Promise.resolve(this.export.content());
      case 'tracks':
        return Promise.resolve(this.trackList.content());
      case 'notes':
        return Promise.resolve(this.app.notes.nodes(() => this.open('notes')));
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

  private needsServer(): Node[] {
    return [el('p', {}, 'This needs the server: ts-studio FILE')];
  }

  get shownName(): string | undefined {
    return this.current && linked.includes(this.current)
      ? this.current
      : undefined;
  }

  // Opens what a link names.
  recall(text: string): void {
    const name = linked.find((n) => n === text);
    if (name && name !== this.current) this.open(name);
  }

  // Opens the notes, ready to write one.
  async writeNote(): Promise<void> {
    this.show('notes');
    await this.fill('notes');
    document.getElementById('note')?.focus();
  }

  // Does something with the track of what is selected.
  private ofSelected(act: (key: string) => void): void {
    const { app } = this;
    const line = app.selected && app.tracks.place(app.selected.row);
    if (!line) return app.say('Select a box of the track first.');
    act(line.group);
    app.changed();
    if (this.current === 'tracks') this.open('tracks');
  }

  hideSelected(): void {
    this.ofSelected((key) => this.app.tracks.hide(key));
  }

  pinSelected(): void {
    this.ofSelected((key) => this.app.tracks.pin(key));
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
    const scene = this.app.sceneOf(found.row);
    const pairs = (await scene?.event(found.box.ref)) ?? [];
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
    const scene = this.app.sceneOf(s.row);
    const pairs = (await scene?.event(s.box.ref)) ?? [];
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
    if (scene !== this.app.scene) return nodes;
    nodes.push(...(await this.reasons(s.box.ref)));
    nodes.push(...(await this.app.arrows.nodes(s.box.ref)));
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

  /* ---- Search ---- */

  private searchFor(text: string): void {
    this.query.value = text;
    void this.search();
  }

  async search(): Promise<void> {
    const text = this.query.value;
    const said = await this.app.search(text);
    if (text !== this.query.value) return; // a later search says it
    document.getElementById('found')!.textContent = said;
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
        `${count(found.found)} names` +
          (found.found > sums.length
            ? `; below are some of the first ${count(sums.length)}`
            : '') +
          (found.loaded ? '; times and counts are of what is loaded' : '') +
          '; Enter goes to the next box',
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
