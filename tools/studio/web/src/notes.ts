// Bookmarks and notes. They are kept beside the trace by the server, else by
// the browser; what fits is in the link as well.
import { button, el, table } from './dom';
import { duration } from './format';
import type { App } from './app';

export interface Note {
  from: number; // times of the trace
  to: number; // from: a moment
  text: string;
}

const most = 1000; // notes
const mostText = 2000; // characters of a note
const mostLink = 1500; // characters in a link

// What somebody else wrote: only what is a note is taken.
export function parseNotes(text: string): Note[] {
  const notes: Note[] = [];
  try {
    const all = (JSON.parse(text) as { notes?: unknown }).notes;
    for (const n of (Array.isArray(all) ? all : []) as Partial<Note>[]) {
      const ok =
        Number.isFinite(n?.from) &&
        Number.isFinite(n?.to) &&
        n.to! >= n.from! &&
        typeof n.text === 'string';
      if (ok && notes.length < most)
        notes.push({
          from: n.from!,
          to: n.to!,
          text: n.text!.slice(0, mostText),
        });
    }
  } catch {
    return [];
  }
  return notes;
}

export function notesText(notes: readonly Note[]): string {
  return `${JSON.stringify({ studio_notes: 1, notes }, undefined, 1)}\n`;
}

export class Notes {
  list: Note[] = [];
  onChange: () => void = () => undefined;

  constructor(
    private readonly app: App,
    private readonly name: string,
  ) {}

  // Another trace of this name has other notes.
  private get key(): string {
    const { info } = this.app;
    return `studio-notes ${this.name} ${info.realtime} ${info.process}`;
  }

  async load(link: string | null): Promise<void> {
    const kept = await this.kept();
    this.list = parseNotes(kept ?? '');
    if (link) this.merge(parseNotes(link));
    this.app.changed();
  }

  private async kept(): Promise<string | null | undefined> {
    const { engine } = this.app.scene;
    try {
      if (engine.loadNotes) return await engine.loadNotes();
      return localStorage.getItem(this.key);
    } catch (error) {
      this.app.say(`Notes cannot be read: ${String(error)}`);
      return undefined;
    }
  }

  private merge(more: Note[]): void {
    const same = (a: Note, b: Note) =>
      a.from === b.from && a.to === b.to && a.text === b.text;
    for (const note of more)
      if (!this.list.some((n) => same(n, note))) this.list.push(note);
    this.sort();
  }

  private sort(): void {
    this.list.sort((a, b) => a.from - b.from || a.to - b.to);
  }

  // For the link, if they are few.
  get link(): string | undefined {
    const text = this.list.length && JSON.stringify({ notes: this.list });
    return text && text.length <= mostLink ? text : undefined;
  }

  private async save(): Promise<void> {
    this.app.changed();
    this.onChange();
    const text = notesText(this.list);
    const { engine } = this.app.scene;
    try {
      if (engine.saveNotes) await engine.saveNotes(text);
      else localStorage.setItem(this.key, text);
    } catch (error) {
      this.app.say(
        `The notes are not kept: ${error instanceof Error ? error.message : ''}`,
      );
    }
  }

  // Where a note would be: what is selected, else the window.
  private place(): { from: number; to: number } {
    const { app } = this;
    const at = app.area ?? (app.selected && {
      from: app.selected.box.start,
      to: app.selected.box.end,
    }) ?? { from: app.from, to: app.to };
    return { from: Math.round(at.from), to: Math.round(at.to) };
  }

  private async add(text: string): Promise<void> {
    if (this.list.length >= most) return;
    this.list.push({ ...this.place(), text: text.slice(0, mostText) });
    this.sort();
    await this.save();
  }

  private async remove(note: Note): Promise<void> {
    this.list = this.list.filter((n) => n !== note);
    await this.save();
  }

  /* ---- The panel ---- */

  nodes(again: () => void): Node[] {
    const { app } = this;
    const place = this.place();
    const input = el('input', {
      type: 'text',
      id: 'note',
      'aria-label': 'Note',
      placeholder: 'What is here',
      maxlength: String(mostText),
    });
    const form = el(
      'form',
      {
        class: 'row',
        submit: (e: Event) => {
          e.preventDefault();
          void this.add(input.value).then(again);
        },
      },
      input,
      el('button', { type: 'submit' }, 'Add'),
    );
    return [
      el('h2', {}, 'Bookmarks and notes'),
      el(
        'p',
        { class: 'faint' },
        `A new one is at ${app.at(place.from)}, ` +
          `${duration(place.to - place.from)}: what is selected, else what is ` +
          'shown.',
      ),
      form,
      this.list.length
        ? table<Note>(
            'Kept',
            [
              {
                title: 'note',
                cell: (n) => `${this.list.indexOf(n) + 1}. ${n.text}`,
              },
              { title: 'at', number: true, cell: (n) => app.at(n.from) },
              {
                title: 'lasts',
                number: true,
                cell: (n) => duration(n.to - n.from),
              },
              {
                title: 'remove',
                cell: (n) => {
                  const b = button(
                    '×',
                    () => void this.remove(n).then(again),
                    'Remove this note',
                  );
                  b.setAttribute('aria-label', `Remove note ${n.text}`);
                  return b;
                },
              },
            ],
            this.list,
            (n) => app.zoomTo(n.from, n.to),
          )
        : el('p', {}, 'There is none yet.'),
    ];
  }
}
