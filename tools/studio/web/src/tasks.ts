// What only the server can do: queries, comparisons, exports, checks.
import { type Engine, type HttpEngine, Refusal } from './engine';

const busy = 409; // a task of another page runs
const retryMs = 250;
const retries = 80;

// One that a panel asked for.
interface Turn {
  state: 'waits' | 'runs' | 'cancelled';
  giveUp: () => void;
}

// Tasks of all panels: the server runs one at a time.
interface Line {
  last: Promise<unknown>;
  running: number;
}

export class Tasks {
  private readonly turns = new Set<Turn>();

  private constructor(
    private readonly http: HttpEngine,
    private readonly line: Line,
  ) {}

  static of(engine: Engine): Tasks | undefined {
    if (!('post' in engine)) return undefined;
    const http = engine as HttpEngine;
    const line: Line = { last: Promise.resolve(), running: 0 };
    // Who leaves the page cannot cancel a task any more. The only listener: what
    // the page had asked for has failed when a second one is called.
    window.addEventListener('pagehide', () => {
      if (line.running) http.leave();
    });
    return new Tasks(http, line);
  }

  // Those of another panel: it cancels its own only.
  another(): Tasks {
    return new Tasks(this.http, this.line);
  }

  private async post(text: string): Promise<Response> {
    const turn: Turn = { state: 'waits', giveUp: () => undefined };
    const given = new Promise<never>((_, fail) => {
      turn.giveUp = () => fail(new Error('cancelled'));
    });
    const answer = this.line.last.then(() => this.begin(turn, text, retries));
    this.line.last = answer.catch(() => undefined);
    this.turns.add(turn);
    try {
      return await Promise.race([answer, given]);
    } finally {
      this.turns.delete(turn);
    }
  }

  // A page that was left a moment ago may have a task that still ends.
  private async begin(
    turn: Turn,
    text: string,
    more: number,
  ): Promise<Response> {
    if (turn.state === 'cancelled') throw new Error('cancelled');
    turn.state = 'runs';
    this.line.running++;
    try {
      return await this.http.post('task', text);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== busy || !more)
        throw error;
    } finally {
      this.line.running--;
    }
    turn.state = 'waits';
    await new Promise((again) => window.setTimeout(again, retryMs));
    return this.begin(turn, text, more - 1);
  }

  // The first line says what, the rest is for it.
  async run(what: string, rest = ''): Promise<string> {
    return (await this.post(`${what}\n${rest}`)).text();
  }

  async file(what: string): Promise<Blob> {
    return (await this.post(what)).blob();
  }

  async json<T>(what: string, rest = ''): Promise<T> {
    return JSON.parse(await this.run(what, rest)) as T;
  }

  // Ends what runs of this panel, and forgets what waits.
  async cancel(): Promise<void> {
    const runs = [...this.turns].some((t) => t.state === 'runs');
    for (const turn of this.turns)
      if (turn.state === 'waits') {
        turn.state = 'cancelled';
        turn.giveUp();
      }
    if (runs) await this.http.post('cancel', '');
  }
}

export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10000);
}
