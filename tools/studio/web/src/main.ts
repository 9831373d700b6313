// Opens the trace that the page holds, that the server has, or that is chosen.
import workerSource from 'worker';
import { App } from './app';
import type { Report } from './app';
import { HttpEngine, Scene, WorkerEngine } from './engine';
import type { Engine } from './engine';
import { Input } from './input';
import { Panels } from './panels';
import { visible } from './format';

function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

function held(id: string): string | undefined {
  return document.getElementById(id)?.textContent ?? undefined;
}

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

function fromBase64(text: string): ArrayBuffer {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

function worker(): WorkerEngine {
  return new WorkerEngine(workerSource, fromBase64(held('module')!));
}

/* ---- The view in the fragment of the address ---- */

// Window, selection and search, so that a link shows what I see.
function remember(app: App): void {
  const f = fragment();
  const first = app.info.first;
  f.set('t', `${Math.round(app.from - first)}-${Math.round(app.to - first)}`);
  f.set('y', String(Math.round(app.scroll)));
  if (app.selected)
    f.set(
      's',
      `${app.selected.row}.` + `${Math.round(app.selected.box.start - first)}`,
    );
  else f.delete('s');
  if (app.path) f.set('p', '1');
  else f.delete('p');
  if (app.query) f.set('q', app.query);
  else f.delete('q');
  history.replaceState(null, '', `#${f.toString()}`);
}

async function recall(app: App, panels: Panels): Promise<void> {
  const f = fragment();
  const time = /^(-?\d+)-(-?\d+)$/.exec(f.get('t') ?? '');
  const first = app.info.first;
  if (time) app.show(Number(time[1]) + first, Number(time[2]) + first);
  app.scrollTo(Number(f.get('y')) || 0);
  const query = f.get('q');
  if (query) {
    byId<HTMLInputElement>('query').value = query;
    await panels.search();
  }
  if (f.get('p')) await panels.togglePath();
  const at = /^(\d+)\.(-?\d+)$/.exec(f.get('s') ?? '');
  const found =
    at &&
    app.tracks.row(Number(at[1])) &&
    (await app.scene.pick(Number(at[1]), Number(at[2]) + first, 0));
  if (found) app.select(found.row, found.box, found.label);
}

function remembering(app: App): void {
  let timer = 0;
  app.onWindow = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => remember(app), 200);
  };
}

/* ---- Starting ---- */

// A graph of more operations is loaded when somebody asks for it.
const graphAtOnce = 200000;

async function show(
  engine: Engine,
  name: string,
  report: Report | undefined,
): Promise<void> {
  const scene = new Scene(engine);
  const info = await scene.info();
  byId('start').hidden = true;
  byId('name').textContent = visible(name);
  document.title = `${visible(name)} - TraceSmith Studio`;
  const app = new App(
    scene,
    info,
    report,
    byId<HTMLCanvasElement>('tracks'),
    byId<HTMLCanvasElement>('minimap'),
  );
  await app.loadRows();
  const panels = new Panels(app);
  new Input(app, panels, byId<HTMLCanvasElement>('tracks'));
  await app.minimap.load();
  if (info.operations && info.operations <= graphAtOnce) await panels.graph();
  await recall(app, panels);
  remembering(app);
  if (engine.live && info.live) follow(app, panels);
  // For those who measure: how long questions and paints took.
  Object.assign(window, { studio: app });
  document.documentElement.dataset.ready = 'true';
  byId('tracks').focus();
}

// Shows what a recorder adds. A window that reaches the end stays at the end.
function follow(app: App, panels: Panels): void {
  const look = async (): Promise<void> => {
    const last = app.info.last;
    if (await app.scene.refresh()) {
      const atEnd = app.to >= last;
      app.info = await app.scene.info();
      panels.forget();
      if (atEnd) app.pan(app.info.last - last);
      await app.reload();
      await app.minimap.load();
    }
    if (app.info.live) window.setTimeout(() => void look(), 250);
    else {
      if (app.info.operations <= graphAtOnce) await panels.graph();
      app.say('The program has ended.');
    }
  };
  void look();
}

function chooser(): void {
  const start = byId('start'),
    input = byId<HTMLInputElement>('file');
  start.hidden = false;
  const open = async (file: File): Promise<void> => {
    const engine = worker();
    byId('problem').textContent = '';
    await engine.openFile(file);
    await show(engine, file.name, undefined);
  };
  const tryOpen = (file: File | undefined): void => {
    if (file)
      open(file).catch((error: unknown) => {
        byId('problem').textContent =
          error instanceof Error ? error.message : String(error);
      });
  };
  input.addEventListener('change', () => tryOpen(input.files?.[0]));
  start.addEventListener('dragover', (e) => {
    e.preventDefault();
    start.classList.add('over');
  });
  start.addEventListener('drop', (e) => {
    e.preventDefault();
    tryOpen(e.dataTransfer?.files[0]);
  });
}

async function start(): Promise<void> {
  const base64 = held('trace');
  const meta = JSON.parse(held('about') ?? '{}') as {
    name?: string;
    report?: Report;
  };
  const token = fragment().get('token');
  if (base64) {
    const engine = worker();
    await engine.openBase64(base64);
    document.getElementById('trace')!.remove(); // it is in the worker
    await show(engine, meta.name ?? '', meta.report);
  } else if (token && location.protocol.startsWith('http')) {
    const engine = new HttpEngine(token);
    const about = (await (await engine.get('about')).json()) as typeof meta;
    await show(engine, about.name ?? '', about.report);
  } else chooser();
}

function fail(error: unknown): void {
  byId('start').hidden = false;
  byId('problem').textContent =
    error instanceof Error ? error.message : String(error);
}

// The trace stands behind this script in the page.
document.addEventListener('DOMContentLoaded', () => start().catch(fail));
