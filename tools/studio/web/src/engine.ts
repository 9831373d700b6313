// Who answers questions: the module in a worker, or the server.
import * as wire from './wire';

export interface Engine {
  readonly live: boolean;
  ask(question: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  // Notes beside the trace; without these the browser keeps them.
  loadNotes?(): Promise<string>;
  saveNotes?(text: string): Promise<void>;
}

interface Reply {
  id: number;
  answer?: Uint8Array<ArrayBuffer>;
  error?: string;
}

export class WorkerEngine implements Engine {
  readonly live = false;
  private readonly worker: Worker;
  private readonly waiting = new Map<
    number,
    {
      resolve(answer: Uint8Array<ArrayBuffer>): void;
      reject(e: Error): void;
    }
  >();
  private last = 0;

  constructor(source: string, code: ArrayBuffer) {
    const url = URL.createObjectURL(
      new Blob([source], { type: 'text/javascript' }),
    );
    this.worker = new Worker(url);
    this.worker.onmessage = (event) => this.take(event.data as Reply);
    void this.send({ code });
  }

  private take(reply: Reply): void {
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if (reply.error) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.answer ?? new Uint8Array());
  }

  private send(message: object): Promise<Uint8Array<ArrayBuffer>> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  async openBase64(base64: string): Promise<void> {
    await this.send({ base64 });
  }

  async openFile(file: Blob): Promise<void> {
    await this.send({ file });
  }

  async openUrl(url: string): Promise<void> {
    await this.send({ url });
  }

  ask(question: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    return this.send({ question });
  }
}

// What the server does not do, and why.
export class Refusal extends Error {
  constructor(
    readonly status: number,
    why: string,
  ) {
    super(why);
  }
}

export class HttpEngine implements Engine {
  readonly live = true;

  // asks: where questions go; the second trace has another place.
  constructor(
    private readonly token: string,
    private readonly asks = 'ask',
  ) {}

  // The version that was read: no other notes are replaced.
  private notes = '';
  private saving = Promise.resolve();

  second(): HttpEngine {
    return new HttpEngine(this.token, 'ask2');
  }

  private async fetch(
    path: string,
    body?: BodyInit,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const response = await fetch(path, {
      method: body === undefined ? 'GET' : 'POST',
      body: body ?? null,
      headers: { 'X-Studio-Token': this.token, ...headers },
      cache: 'no-store',
    });
    if (!response.ok) throw new Refusal(response.status, await response.text());
    return response;
  }

  get(path: string): Promise<Response> {
    return this.fetch(path);
  }

  post(path: string, body: BodyInit): Promise<Response> {
    return this.fetch(path, body);
  }

  // Cancels its task, even as the page ends.
  leave(): void {
    void fetch('cancel', {
      method: 'POST',
      body: '',
      headers: { 'X-Studio-Token': this.token },
      keepalive: true,
    }).catch(() => undefined);
  }

  async ask(
    question: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.post(this.asks, question);
    return new Uint8Array(await response.arrayBuffer());
  }

  async loadNotes(): Promise<string> {
    const response = await this.get('notes');
    this.notes = response.headers.get('ETag') ?? '';
    return response.text();
  }

  async saveNotes(text: string): Promise<void> {
    // One after the other: each is of the version that the last one made.
    const last = this.saving.catch(() => undefined);
    await (this.saving = last.then(async () => {
      const headers = { 'If-Match': this.notes };
      const response = await this.fetch('notes', text, headers);
      this.notes = response.headers.get('ETag') ?? '';
    }));
  }
}

// Questions with names, and answers as objects.
export class Scene {
  constructor(readonly engine: Engine) {}

  private async ask<T>(
    w: wire.Writer,
    read: (a: wire.Answer) => T,
  ): Promise<T> {
    return read(new wire.Answer(await this.engine.ask(w.done())));
  }

  // The same, but undefined if there is no such thing.
  private async find<T>(
    w: wire.Writer,
    read: (a: wire.Answer) => T,
  ): Promise<T | undefined> {
    try {
      return await this.ask(w, read);
    } catch (error) {
      if (
        error instanceof wire.Failure &&
        error.result === wire.Result.notFound
      )
        return undefined;
      throw error;
    }
  }

  // Names of C++ and Rust, and what they are read as.
  async names(pairs: string[]): Promise<void> {
    const w = new wire.Writer(wire.Type.names).u32(pairs.length >> 1);
    for (const text of pairs) w.text(text);
    await this.ask(w, () => undefined);
  }

  info() {
    return this.ask(new wire.Writer(wire.Type.info), wire.readInfo);
  }

  rows() {
    return this.ask(new wire.Writer(wire.Type.rows), wire.readRows);
  }

  view(from: wire.Ns, to: wire.Ns, pixels: number, rows: number[]) {
    const w = new wire.Writer(wire.Type.view);
    w.ns(from).ns(to).u32(pixels).u32(rows.length);
    for (const row of rows) w.u32(row);
    return this.ask(w, wire.readView);
  }

  pick(row: number, time: wire.Ns, slack: wire.Ns) {
    const w = new wire.Writer(wire.Type.pick).u32(row).ns(time).ns(slack);
    return this.find(w, wire.readFound);
  }

  event(ref: bigint) {
    return this.find(new wire.Writer(wire.Type.event).u64(ref), wire.readEvent);
  }

  async search(text: string): Promise<wire.Matches> {
    for (;;) {
      const found = await this.ask(
        new wire.Writer(wire.Type.search).text(text),
        wire.readSearch,
      );
      if (!found.behind) return found;
      while ((await this.work()).behind);
    }
  }

  next(text: string, time: wire.Ns, row: number, backwards: boolean) {
    const w = new wire.Writer(wire.Type.next);
    w.ns(time)
      .u32(row)
      .u32(backwards ? 1 : 0)
      .text(text);
    return this.find(w, wire.readFound);
  }

  area(from: wire.Ns, to: wire.Ns, rows: number[]) {
    const w = new wire.Writer(wire.Type.area).ns(from).ns(to).u32(rows.length);
    for (const row of rows) w.u32(row);
    return this.ask(w, wire.readArea);
  }

  // by: a FlameBy
  flame(from: wire.Ns, to: wire.Ns, by: number, rows: number[]) {
    const w = new wire.Writer(wire.Type.flame).ns(from).ns(to).u32(by);
    w.u32(rows.length);
    for (const row of rows) w.u32(row);
    return this.ask(w, wire.readFlame);
  }

  histogram(from: wire.Ns, to: wire.Ns, label: number, rows: number[]) {
    const w = new wire.Writer(wire.Type.histogram).ns(from).ns(to).u32(label);
    w.u32(rows.length);
    for (const row of rows) w.u32(row);
    return this.ask(w, wire.readHistogram);
  }

  idle() {
    return this.find(new wire.Writer(wire.Type.idle), wire.readIdle);
  }

  why(ref: bigint) {
    return this.find(new wire.Writer(wire.Type.why).u64(ref), wire.readWhy);
  }

  path() {
    return this.find(new wire.Writer(wire.Type.path), wire.readPath);
  }

  // Arrows of an event.
  flowsOf(ref: bigint) {
    const w = new wire.Writer(wire.Type.flows).u32(1).u64(ref);
    return this.find(w.ns(0).ns(1).u32(1).u32(0), wire.readFlows);
  }

  // Arrows in a window: of rows, or of the critical path.
  flowsIn(from: wire.Ns, to: wire.Ns, pixels: number, rows?: number[]) {
    const w = new wire.Writer(wire.Type.flows).u32(rows ? 2 : 3).u64(0n);
    w.ns(from).ns(to).u32(pixels).u32(rows?.length ?? 0);
    for (const row of rows ?? []) w.u32(row);
    return this.find(w, wire.readFlows);
  }

  // Operations by the numbers that ts-replay gives them.
  operations(numbers: number[]) {
    const w = new wire.Writer(wire.Type.operations).u32(numbers.length);
    for (const n of numbers) w.u32(n);
    return this.find(w, wire.readOperations);
  }

  labels() {
    return this.ask(new wire.Writer(wire.Type.labels), wire.readSums);
  }

  refresh() {
    return this.ask(new wire.Writer(wire.Type.refresh), (a) => !!a.u8());
  }

  // Has the counters of a trace made that is not held as a whole.
  async counters(): Promise<void> {
    const want = new wire.Writer(wire.Type.counters);
    while (!(await this.ask(want, (a) => !!a.u8())))
      while ((await this.work()).behind);
  }

  // Lets the scene do a few milliseconds of what views lack.
  work() {
    return this.ask(new wire.Writer(wire.Type.work), (a) => ({
      better: !!a.u8(),
      behind: !!a.u8(),
    }));
  }

  whatif(changes: Change[]) {
    const w = new wire.Writer(wire.Type.whatif).u32(changes.length);
    for (const c of changes) {
      w.u32(c.type).u32(c.num).u32(c.den).ns(c.ns).u32(c.labels.length);
      for (const label of c.labels) w.u32(label);
      w.u32(c.refs.length);
      for (const ref of c.refs) w.u64(ref);
    }
    return this.find(w, wire.readOutcome);
  }
}

export interface Change {
  type: number;
  num: number;
  den: number;
  ns: wire.Ns;
  labels: number[];
  refs: bigint[];
}

export const ChangeType = {
  scale: 1,
  remove: 2,
  noLaunch: 8,
  host: 9,
  overlap: 10,
} as const;
