// Who answers questions: the module in a worker, or the server.
import * as wire from './wire';

export interface Engine {
  readonly live: boolean;
  ask(question: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
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

  ask(question: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    return this.send({ question });
  }
}

export class HttpEngine implements Engine {
  readonly live = true;

  constructor(private readonly token: string) {}

  async get(path: string): Promise<Response> {
    const response = await fetch(path, {
      headers: { 'X-Studio-Token': this.token },
      cache: 'no-store',
    });
    if (!response.ok) throw new Error(await response.text());
    return response;
  }

  async ask(
    question: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const response = await fetch('ask', {
      method: 'POST',
      body: question,
      headers: { 'X-Studio-Token': this.token },
      cache: 'no-store',
    });
    if (!response.ok) throw new Error(await response.text());
    return new Uint8Array(await response.arrayBuffer());
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

  search(text: string) {
    return this.ask(
      new wire.Writer(wire.Type.search).text(text),
      wire.readSearch,
    );
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

  idle() {
    return this.find(new wire.Writer(wire.Type.idle), wire.readIdle);
  }

  why(ref: bigint) {
    return this.find(new wire.Writer(wire.Type.why).u64(ref), wire.readWhy);
  }

  path() {
    return this.find(new wire.Writer(wire.Type.path), wire.readPath);
  }

  labels() {
    return this.ask(new wire.Writer(wire.Type.labels), wire.readSums);
  }

  refresh() {
    return this.ask(new wire.Writer(wire.Type.refresh), (a) => !!a.u8());
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
