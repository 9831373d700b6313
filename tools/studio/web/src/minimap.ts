// The whole trace in a strip: how busy everything was, and where the window is.
import type { App } from './app';
import type { View } from './wire';
import { RowType } from './wire';

export class Minimap {
  private readonly context: CanvasRenderingContext2D;
  private view: View | undefined;
  private width = 0;
  private height = 0;
  private grip: number | undefined;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly app: App,
  ) {
    this.context = canvas.getContext('2d')!;
    canvas.addEventListener('pointerdown', (e) => {
      canvas.setPointerCapture(e.pointerId);
      this.grip = this.inside(e.offsetX)
        ? this.time(e.offsetX) - app.from
        : (app.to - app.from) / 2;
      this.move(e.offsetX);
    });
    canvas.addEventListener('pointermove', (e) => {
      if (this.grip !== undefined) this.move(e.offsetX);
    });
    canvas.addEventListener('pointerup', () => (this.grip = undefined));
    canvas.addEventListener(
      'wheel',
      (e) => {
        e.preventDefault();
        app.zoom(1.2 ** Math.sign(e.deltaY), this.time(e.offsetX));
      },
      { passive: false },
    );
  }

  private time(x: number): number {
    const [first, last] = this.app.whole;
    return first + (x / this.width) * (last - first);
  }

  private x(time: number): number {
    const [first, last] = this.app.whole;
    return ((time - first) / (last - first)) * this.width;
  }

  private inside(x: number): boolean {
    const time = this.time(x);
    return time >= this.app.from && time < this.app.to;
  }

  private move(x: number): void {
    const from = this.time(x) - this.grip!;
    this.app.show(from, from + this.app.to - this.app.from);
  }

  resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // Up to twenty rows that say most: devices and streams, outermost zones.
  async load(): Promise<void> {
    const rows = this.app.tracks
      .all()
      .filter(
        (r) =>
          !r.part &&
          (r.count || !this.app.tracks.whole) &&
          (r.type === RowType.work || r.type === RowType.zones),
      )
      .sort((a, b) => b.type - a.type || b.count - a.count)
      .slice(0, 20);
    const [first, last] = this.app.whole;
    this.view = await this.app.scene.view(
      first,
      last,
      1024,
      rows.map((r) => r.id),
    );
    this.app.changed();
  }

  paint(): void {
    const c = this.context,
      { theme } = this.app;
    c.fillStyle = theme.panel;
    c.fillRect(0, 0, this.width, this.height);
    const rows = this.view?.rows ?? [];
    const high = (this.height - 6) / Math.max(1, rows.length);
    const step = this.width / 1024;
    rows.forEach((row, y) => {
      for (let i = 0; row.busy && i < 1024; i++) {
        if (!row.busy[i]) continue;
        c.globalAlpha = 0.25 + row.busy[i]! / 340;
        c.fillStyle = theme.boxes[row.hue![i]!]!;
        c.fillRect(i * step, 3 + y * high, step + 0.3, Math.max(1, high - 0.5));
      }
    });
    c.globalAlpha = 1;
    const from = this.x(this.app.from),
      to = Math.max(from + 2, this.x(this.app.to));
    c.fillStyle = theme.dark ? '#0008' : '#fff9';
    c.fillRect(0, 0, from, this.height);
    c.fillRect(to, 0, this.width - to, this.height);
    c.strokeStyle = theme.accent;
    c.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), this.height - 1);
  }
}
