// The WebAssembly module: a trace in memory, and questions to it.
import { decompress } from 'fzstd';

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  allocate(size: number): number;
  open(size: number): number;
  ask(question: number, size: number): number;
  answer_size(): number;
  result_text(result: number): number;
}

// What a trace is read from.
export interface Source {
  readonly size: number;
  read(offset: number, to: Uint8Array): number; // how many bytes it read
}

export class Bytes implements Source {
  constructor(private readonly bytes: Uint8Array) {}

  get size(): number {
    return this.bytes.length;
  }

  read(offset: number, to: Uint8Array): number {
    const part = this.bytes.subarray(offset, offset + to.length);
    to.set(part);
    return part.length;
  }
}

// Something of any size: in blocks, the last of which are kept. In workers only.
abstract class Blocks implements Source {
  private static readonly block = 1 << 18;
  private static readonly most = 64;
  private readonly blocks = new Map<number, Uint8Array>();

  abstract get size(): number;
  protected abstract load(from: number, to: number): ArrayBuffer;

  private blockAt(number: number): Uint8Array {
    const from = number * Blocks.block;
    const to = Math.min(this.size, from + Blocks.block);
    const known =
      this.blocks.get(number) ??
      new Uint8Array(from < to ? this.load(from, to) : new ArrayBuffer(0));
    this.blocks.delete(number); // now it is the one that was used last
    this.blocks.set(number, known);
    if (this.blocks.size > Blocks.most)
      this.blocks.delete(this.blocks.keys().next().value!);
    return known;
  }

  read(offset: number, to: Uint8Array): number {
    let done = 0;
    while (done < to.length) {
      const at = offset + done,
        inside = at % Blocks.block;
      const part = this.blockAt(Math.floor(at / Blocks.block)).subarray(
        inside,
        inside + to.length - done,
      );
      if (!part.length) break;
      to.set(part, done);
      done += part.length;
    }
    return done;
  }
}

export class FileSource extends Blocks {
  private readonly reader = new FileReaderSync();

  constructor(private readonly file: Blob) {
    super();
  }

  get size(): number {
    return this.file.size;
  }

  protected load(from: number, to: number): ArrayBuffer {
    return this.reader.readAsArrayBuffer(this.file.slice(from, to));
  }
}

// A file of a web host, which has to know ranges.
export class UrlSource extends Blocks {
  readonly size: number;

  constructor(private readonly url: string) {
    super();
    const range = this.get(0, 1).getResponseHeader('Content-Range');
    this.size = Number(/\/(\d+)$/.exec(range ?? '')?.[1]);
    if (!Number.isSafeInteger(this.size))
      throw new Error(`${url}: the host does not say how large it is`);
  }

  private get(from: number, to: number): XMLHttpRequest {
    const request = new XMLHttpRequest();
    request.open('GET', this.url, false); // a worker may wait
    request.responseType = 'arraybuffer';
    request.setRequestHeader('Range', `bytes=${from}-${to - 1}`);
    try {
      request.send();
    } catch {
      throw new Error(`${this.url}: it cannot be read from here`);
    }
    if (request.status === 206) return request;
    throw new Error(
      request.status === 200
        ? `${this.url}: the host sends no ranges of files`
        : `${this.url}: the host answers ${request.status}`,
    );
  }

  protected load(from: number, to: number): ArrayBuffer {
    return this.get(from, to).response as ArrayBuffer;
  }
}

export class Module {
  private source: Source | undefined;

  private constructor(private readonly exports: Exports) {}

  static async make(code: BufferSource): Promise<Module> {
    let exports: Exports | undefined;
    let made: Module | undefined;
    const bytes = (at: number, size: number) =>
      new Uint8Array(exports!.memory.buffer, at >>> 0, size >>> 0);
    const inflate = (to: number, room: number, from: number, size: number) => {
      try {
        const raw = decompress(bytes(from, size));
        if (raw.length > room >>> 0) return -1;
        bytes(to, raw.length).set(raw);
        return raw.length;
      } catch {
        return -1; // a damaged chunk
      }
    };
    const read = (offset: number, to: number, size: number) => {
      try {
        return made!.source!.read(offset, bytes(to, size));
      } catch {
        return -1; // the file is gone, or may not be read
      }
    };
    const unsupported = () => 52; // ENOSYS: nothing is written anywhere
    const { instance } = await WebAssembly.instantiate(code, {
      page: { inflate, read },
      wasi_snapshot_preview1: {
        fd_close: unsupported,
        fd_seek: unsupported,
        fd_write: unsupported,
      },
    });
    exports = instance.exports as unknown as Exports;
    exports._initialize();
    made = new Module(exports);
    return made;
  }

  private put(bytes: Uint8Array): number {
    const at = this.exports.allocate(bytes.length) >>> 0;
    if (!at) throw new Error('there is not enough memory for it');
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    return at;
  }

  open(source: Source): void {
    this.source = source;
    const result = this.exports.open(source.size);
    if (result) throw new Error(this.text(this.exports.result_text(result)));
  }

  private text(at: number): string {
    const all = new Uint8Array(this.exports.memory.buffer, at >>> 0);
    return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
  }

  // Answers are copies: the module uses its memory again.
  ask(question: Uint8Array): Uint8Array<ArrayBuffer> {
    const at = this.exports.ask(this.put(question), question.length) >>> 0;
    const size = this.exports.answer_size() >>> 0;
    return new Uint8Array(this.exports.memory.buffer, at, size).slice();
  }
}
