// Begins and ends captures of operations in a recording that runs.
import { type HttpEngine } from './engine';

const pollMs = 300;

interface State {
  state: 'off' | 'frame' | 'on' | 'ended';
  kept: number;
}

const words = {
  off: '',
  frame: ', the next frame begins a capture',
  on: ', capturing',
  ended: '',
};

// Shows the buttons in `bar` until no process records any more.
export function showCapture(engine: HttpEngine, bar: HTMLElement): void {
  const [start, stop] = bar.querySelectorAll('button');
  const said = bar.querySelector('output')!;
  const take = async (response: Promise<Response>): Promise<boolean> => {
    const now = (await (await response).json()) as State;
    const off = now.state === 'off';
    bar.hidden = now.state === 'ended';
    start!.disabled = !off;
    stop!.disabled = off;
    said.textContent =
      `${now.kept.toLocaleString('en-US')} captured` + words[now.state];
    return !bar.hidden;
  };
  const ask = (what: string) => (): void => {
    take(engine.post('capture', what)).catch((error: unknown) => {
      said.textContent = error instanceof Error ? error.message : String(error);
    });
  };
  const look = async (): Promise<void> => {
    // The server may have ended.
    if (await take(engine.get('capture')).catch(() => false))
      window.setTimeout(() => void look(), pollMs);
    else bar.hidden = true;
  };
  start!.addEventListener('click', ask('start'));
  stop!.addEventListener('click', ask('stop'));
  void look();
}
