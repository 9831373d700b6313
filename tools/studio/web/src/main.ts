// Opens the trace that the page holds, that the server has, or that is chosen.
import workerSource from 'worker';
import { App } from './app';
import type { Report } from './app';
import { showCapture } from './capture';
import { HttpEngine, Scene, WorkerEngine } from './engine';
import type { Engine } from './engine';
import { graphAtOnce } from './idle';
import { Input } from './input';
import { fragment, recall, remember } from './link';
import { Panels } from './panels';
import { visible } from './format';

function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

function held(id: string): string | undefined {
  return document.getElementById(id)?.textContent ?? undefined;
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

function remembering(app: App, panels: Panels): void {
  let timer = 0;
  app.onWindow = app.notes.onChange = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => remember(app, panels), 200);
  };
  app.onWindow();
}

/* ---- Starting ---- */

async function show(
  engine: Engine,
  name: string,
  report: Report | undefined,
  other?: { engine: Engine; name: string },
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
    name,
  );
  await app.loadRows();
  const panels = new Panels(app, name, !!other, async (file) => {
    const second = worker();
    await second.openFile(file);
    return second;
  });
  new Input(app, panels, byId<HTMLCanvasElement>('tracks'));
  await app.minimap.load();
  // The page does without what fails here, and says so.
  const say = (error: unknown) =>
    app.say(error instanceof Error ? error.message : String(error));
  if (info.operations && info.operations <= graphAtOnce)
    await panels.graph().catch(say);
  if (other)
    await panels.compare.served(other.engine, other.name).catch(say);
  await recall(app, panels);
  remembering(app, panels);
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
    other?: string;
    captures?: boolean;
    names?: string[];
    report?: Report;
  };
  const token = fragment().get('token');
  const url = new URLSearchParams(location.search).get('url');
  if (base64) {
    const engine = worker();
    await engine.openBase64(base64);
    document.getElementById('trace')!.remove(); // it is in the worker
    // Names that cannot be read remain as they are in the trace.
    if (meta.names)
      await new Scene(engine).names(meta.names).catch(() => undefined);
    await show(engine, meta.name ?? '', meta.report);
  } else if (token && location.protocol.startsWith('http')) {
    const engine = new HttpEngine(token);
    const about = (await (await engine.get('about')).json()) as typeof meta;
    await show(
      engine,
      about.name ?? '',
      about.report,
      about.other === undefined
        ? undefined
        : { engine: engine.second(), name: about.other },
    );
    if (about.captures) showCapture(engine, byId('capture'));
  } else if (url && location.protocol.startsWith('http')) {
    const engine = worker();
    const from = new URL(url, location.href);
    await engine.openUrl(from.href);
    await show(engine, from.pathname.split('/').at(-1) ?? '', undefined);
  } else chooser();
}

function fail(error: unknown): void {
  byId('start').hidden = false;
  byId('problem').textContent =
    error instanceof Error ? error.message : String(error);
}

// The trace stands behind this script in the page.
document.addEventListener('DOMContentLoaded', () => start().catch(fail));
