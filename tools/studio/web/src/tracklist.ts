// The list of tracks: hide, pin, fold, sort, filter.
import { button, el, table } from './dom';
import { count } from './format';
import type { App } from './app';
import type { Group, Sort } from './tracks';

const sorts: [Sort, string][] = [
  ['kind', 'by kind'],
  ['name', 'by name'],
  ['count', 'the most boxes first'],
];

export class TrackList {
  constructor(
    private readonly app: App,
    private readonly again: () => void,
  ) {}

  private check(
    group: Group,
    what: string,
    on: boolean,
    press: (key: string) => void,
  ): Node {
    return el('input', {
      type: 'checkbox',
      'aria-label': `${what} ${group.title}`,
      checked: on,
      change: () => {
        press(group.key);
        this.app.changed();
      },
    });
  }

  private table(): Node {
    const { tracks } = this.app;
    const groups = tracks
      .listed()
      .filter((g) =>
        g.title.toLowerCase().includes(tracks.filter.toLowerCase()),
      );
    const most = 500;
    return table<Group>(
      groups.length > most
        ? `The first ${most} of ${count(groups.length)} tracks`
        : `${count(groups.length)} tracks`,
      [
        { title: 'track', cell: (g) => g.title },
        {
          title: 'boxes',
          number: true,
          cell: (g) => count(g.rows.reduce((n, r) => n + r.count, 0)),
        },
        {
          title: 'show',
          cell: (g) =>
            this.check(g, 'show', !tracks.hidden.has(g.key), (key) =>
              tracks.hide(key),
            ),
        },
        {
          title: 'pin',
          cell: (g) =>
            this.check(g, 'pin', tracks.pinned.has(g.key), (key) =>
              tracks.pin(key),
            ),
        },
        {
          title: 'fold',
          cell: (g) =>
            this.check(g, 'fold', tracks.folded.has(g.key), (key) =>
              tracks.fold(key),
            ),
        },
      ],
      groups.slice(0, most),
      (g) => this.reveal(g),
    );
  }

  private reveal(group: Group): void {
    const line = this.app.tracks.head(group.key);
    if (line) this.app.scrollTo(line.top - 4);
  }

  private sorter(): Node {
    const { app } = this;
    const select = el('select', {
      'aria-label': 'Order of tracks',
      change: () => {
        app.tracks.sort = select.value as Sort;
        app.tracks.lay();
        app.changed();
        this.again();
      },
    });
    for (const [value, text] of sorts)
      select.append(
        el('option', { value, selected: value === app.tracks.sort }, text),
      );
    return select;
  }

  private filter(list: HTMLElement): Node {
    const { app } = this;
    const input = el('input', {
      type: 'search',
      id: 'track-filter',
      placeholder: 'Only tracks with',
      'aria-label': 'Only tracks with this in their name',
      value: app.tracks.filter,
      input: () => {
        app.tracks.filter = input.value;
        app.tracks.lay();
        app.scrollTo(0);
        list.replaceChildren(this.table());
      },
    });
    return input;
  }

  // Counters need all operations of a trace: of a long one, on demand.
  private counters(): Node[] {
    if (this.app.tracks.whole) return [];
    const press = async (): Promise<void> => {
      made.disabled = true;
      try {
        await this.app.scene.counters();
        await this.app.loadRows();
      } catch (error) {
        this.app.say(error instanceof Error ? error.message : String(error));
      }
      this.again();
    };
    const made = button('Counters of devices and memory', () => void press());
    made.id = 'counters';
    return [made];
  }

  content(): Node[] {
    const { app } = this;
    const list = el('div', {}, this.table());
    const all = (act: () => void) => () => {
      act();
      app.tracks.lay();
      app.changed();
      this.again();
    };
    return [
      el('h2', {}, 'Tracks'),
      el('div', { class: 'row' }, this.filter(list), this.sorter()),
      el(
        'div',
        { class: 'row' },
        button(
          'Show all',
          all(() => {
            app.tracks.hidden.clear();
            app.tracks.filter = '';
          }),
        ),
        button(
          'Fold all',
          all(() => {
            for (const g of app.tracks.listed()) app.tracks.folded.add(g.key);
          }),
        ),
        button('Unfold all', all(() => app.tracks.folded.clear())),
        ...this.counters(),
      ),
      list,
    ];
  }
}
