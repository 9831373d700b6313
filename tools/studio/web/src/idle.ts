// Why devices were idle: figures, causes, the longest gaps.
import { bar, el, table } from './dom';
import { count, duration, share } from './format';
import { idleColor } from './palette';
import type { Device, Gap, Idle } from './wire';
import type { App } from './app';

// As ts-analyze words them.
const causeWords: Record<string, string> = {
  host_late: 'the host launched too late',
  launch_latency: 'launches took time to reach the device',
  other_stream: 'kernels of other streams had to end first',
  copy: 'copies had to end first',
  collective: 'collectives had to end first',
  host_sync: 'the host was blocked in synchronisations',
  queue_full: 'launch queues were full',
  unexplained: 'the cause is not recorded',
  late_start: 'the device started ready operations late',
};

// A graph of more operations is loaded when somebody asks for it.
export const graphAtOnce = 200000;

export class IdlePanel {
  private idle: Idle | undefined;

  constructor(private readonly app: App) {}

  forget(): void {
    this.idle = undefined;
  }

  // The graph is loaded when somebody first asks, and adds rows.
  async graph(): Promise<Idle | undefined> {
    if (this.idle) return this.idle;
    this.app.say('Loading the graph of operations ...');
    this.idle = await this.app.scene.idle();
    await this.app.reload();
    this.app.say('');
    return this.idle;
  }

  private sentence(topic: string): Node | undefined {
    const answer = this.app.report?.answers.find((a) => a.topic === topic);
    return (
      answer &&
      el('p', { class: 'sentence', id: `answer-${topic}` }, answer.answer)
    );
  }

  async content(): Promise<Node[]> {
    const idle = await this.graph();
    if (!idle)
      return [el('p', {}, 'No operation of a device is in the trace.')];
    const swatch = (cause: number) => {
      const s = el('span', { class: 'swatch' });
      s.style.background = idleColor(cause);
      return s;
    };
    const causes = idle.causes
      .map((name, i) => ({ name, i, ...idle.total.causes[i]! }))
      .filter((c) => c.count)
      .sort((a, b) => b.ns - a.ns);
    const whole = idle.total.busy + idle.total.idle;
    return [
      el('h2', {}, 'Idle time of devices'),
      this.sentence('idle') ??
        el(
          'p',
          { class: 'sentence' },
          `Idle ${share(idle.total.idle, whole)} of the time ` +
            `(${duration(idle.total.idle)}).`,
        ),
      table<Device>(
        'By device',
        [
          { title: 'device', cell: (d) => d.name },
          { title: 'idle', number: true, cell: (d) => duration(d.idle) },
          {
            title: 'share',
            number: true,
            cell: (d) => share(d.idle, d.busy + d.idle),
          },
          {
            title: 'what for',
            cell: (d) =>
              bar(
                d.causes.map((c, i) => ({
                  ns: c.ns,
                  color: idleColor(i),
                  title: `${idle.causes[i]} ${share(c.ns, d.idle)}`,
                })),
                d.idle,
              ),
          },
        ],
        idle.devices,
        (d) => this.app.zoomTo(d.start, d.end),
      ),
      table(
        'By cause',
        [
          {
            title: 'cause',
            cell: (c: (typeof causes)[0]) =>
              el(
                'span',
                {},
                swatch(c.i),
                c.name,
                el('span', { class: 'faint' }, `: ${causeWords[c.name] ?? ''}`),
              ),
          },
          { title: 'idle', number: true, cell: (c) => duration(c.ns) },
          {
            title: 'share',
            number: true,
            cell: (c) => share(c.ns, idle.total.idle),
          },
          { title: 'gaps', number: true, cell: (c) => count(c.count) },
        ],
        causes,
      ),
      table<Gap>(
        'The longest gaps: press one to see what led to it',
        [
          { title: 'idle', cell: (g) => duration(g.end - g.start) },
          {
            title: 'cause',
            cell: (g) =>
              el(
                'span',
                {},
                swatch(g.cause),
                idle.causes[g.cause]! + (g.guess ? '?' : ''),
              ),
          },
          {
            title: 'device',
            cell: (g) => idle.devices.find((d) => d.track === g.track)?.name,
          },
          { title: 'at', number: true, cell: (g) => this.app.at(g.start) },
        ],
        idle.gaps,
        (g) => void this.app.go(g.ref, g.start, g.end),
      ),
    ];
  }
}
