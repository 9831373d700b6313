// The whole state of the view in the fragment of the address, so that a link
// shows what I see: t window, y scroll, s selection, a area, q search, p path,
// o arrows, k pinned, h hidden, c folded, l filter, r order, d dark or light, w
// panel, n notes.
import type { App } from './app';
import type { Panels } from './panels';
import type { Sort } from './tracks';

export function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

function put(f: URLSearchParams, key: string, value: string | undefined): void {
  if (value) f.set(key, value);
  else f.delete(key);
}

function keys(set: Set<string>): string {
  return [...set].slice(0, 200).join(',');
}

export function remember(app: App, panels: Panels): void {
  const f = fragment();
  const { area, selected, tracks } = app;
  const at = (ns: number) => Math.round(ns - app.info.first);
  f.set('t', `${at(app.from)}-${at(app.to)}`);
  f.set('y', String(Math.round(app.scroll)));
  put(f, 's', selected && `${selected.row}.${at(selected.box.start)}`);
  put(
    f,
    'a',
    area &&
      [at(area.from), at(area.to), area.top, area.bottom]
        .map(Math.round)
        .join('_'),
  );
  put(f, 'p', app.path ? '1' : '');
  put(f, 'o', app.arrows.all ? '1' : '');
  put(f, 'q', app.query);
  put(f, 'k', keys(tracks.pinned));
  put(f, 'h', keys(tracks.hidden));
  put(f, 'c', keys(tracks.folded));
  put(f, 'l', tracks.filter);
  put(f, 'r', tracks.sort === 'kind' ? '' : tracks.sort);
  put(f, 'd', app.isDark ? '1' : '0');
  put(f, 'w', panels.shownName);
  put(f, 'n', app.notes.link);
  // A page in a frame of a notebook has no address of its own.
  if (location.protocol !== 'about:')
    history.replaceState(null, '', `#${f.toString()}`);
}

function recallTracks(app: App, f: URLSearchParams): void {
  const { tracks } = app;
  for (const [key, set] of [
    ['k', tracks.pinned],
    ['h', tracks.hidden],
    ['c', tracks.folded],
  ] as const)
    for (const name of (f.get(key) ?? '').split(',').slice(0, 200))
      if (name) set.add(name);
  tracks.filter = f.get('l') ?? '';
  const sort = f.get('r');
  if (sort === 'name' || sort === 'count') tracks.sort = sort satisfies Sort;
  tracks.lay();
}

function recallArea(app: App, text: string | null): boolean {
  const at = /^(-?\d+)_(-?\d+)_(\d+)_(\d+)$/.exec(text ?? '');
  if (!at) return false;
  const [from, to, top, bottom] = at.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const first = app.info.first;
  app.area = { from: from + first, to: to + first, top, bottom };
  return true;
}

export async function recall(app: App, panels: Panels): Promise<void> {
  const f = fragment();
  const time = /^(-?\d+)-(-?\d+)$/.exec(f.get('t') ?? '');
  const first = app.info.first;
  if (f.has('d')) app.setDark(f.get('d') === '1');
  recallTracks(app, f);
  if (time) app.show(Number(time[1]) + first, Number(time[2]) + first);
  await app.notes.load(f.get('n'));
  const query = f.get('q');
  if (query) {
    (document.getElementById('query') as HTMLInputElement).value = query;
    await panels.search();
  }
  if (f.get('p')) await panels.togglePath();
  app.arrows.all = !!f.get('o');
  app.scrollTo(Number(f.get('y')) || 0);
  const at = /^(\d+)\.(-?\d+)$/.exec(f.get('s') ?? '');
  const found =
    at &&
    app.tracks.row(Number(at[1])) &&
    (await app.scene.pick(Number(at[1]), Number(at[2]) + first, 0));
  if (found) app.select(found.row, found.box, found.label);
  if (recallArea(app, f.get('a'))) app.changed();
  panels.recall(f.get('w') ?? '');
}
