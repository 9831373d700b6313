// What if: a list of changes, and what the model says of them.
import { button, el, table } from './dom';
import { duration, share } from './format';
import { costColor } from './palette';
import { ChangeType } from './engine';
import type { Change } from './engine';
import type { Outcome } from './wire';
import type { App } from './app';

export class WhatIfPanel {
  private changes: { text: string; change: Change }[] = [];

  // open: shows this panel anew, after the changes have changed.
  constructor(
    private readonly app: App,
    private readonly graph: () => Promise<unknown>,
    private readonly open: () => void,
  ) {}

  of(label: number, ref: bigint, text: string): Node {
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
      this.open();
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

  async content(): Promise<Node[]> {
    await this.graph();
    const outcome = await this.app.scene.whatif(
      this.changes.map((c) => c.change),
    );
    await this.app.reload();
    if (this.changes.length) this.app.scrollTo(0);
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
              this.open();
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
    this.open();
  }
}
