// Begins and ends captures of operations in a recording that runs.
import { type HttpEngine } from './engine';

const pollMs = 300;
const slowMs = 2000; // after an error

interface State {
  state: 'off' | 'frame' | 'on' | 'none' | 'ended';
  kept: number;
}

const words = {
  off: '',
  frame: ', the next frame begins a capture',
  on: ', capturing',
  none: ', no process runs now',
  ended: '',
};

// Shows the buttons in `bar` until the recording has ended.
export function showCapture(engine: HttpEngine, bar: HTMLElement): void {
  const [start, stop] = bar.querySelectorAll('button');
  const said = bar.querySelector('output')!;
  const take = async (response: Promise<Response>): Promise<boolean> => {
    const now = (await (await response).json()) as State;
    const off = now.state === 'off';
    bar.hidden = now.state === 'ended';
    start!.disabled = !off;
    stop!.disabled = off || now.state === 'none';
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
    let wait = pollMs;
    const more = await take(engine.get('capture')).catch(() => {
      start!.disabled = stop!.disabled = true;
      said.textContent = 'the server does not answer';
      wait = slowMs;
      return true;
    });
    if (more) window.setTimeout(() => void look(), wait);
  };
  start!.addEventListener('click', ask('start'));
  stop!.addEventListener('click', ask('stop'));
  void look();
}
