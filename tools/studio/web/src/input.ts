// Mouse, wheel, touch and keyboard.
import { axisHeight } from './paint';
import type { App } from './app';
import type { Panels } from './panels';

interface Drag {
  kind: 'pan' | 'area' | 'axis';
  x: number;
  y: number;
  from: number;
  to: number;
  scroll: number;
  moved: boolean;
}

export class Input {
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private drag: Drag | undefined;
  private pinch:
    { span: number; from: number; to: number; middle: number } | undefined;
  private readonly held = new Set<string>();
  private last = 0;

  constructor(
    private readonly app: App,
    private readonly panels: Panels,
    private readonly canvas: HTMLCanvasElement,
  ) {
    canvas.addEventListener('pointerdown', (e) => this.down(e));
    canvas.addEventListener('pointermove', (e) => this.move(e));
    canvas.addEventListener('pointerup', (e) => void this.up(e));
    canvas.addEventListener('pointercancel', (e) => this.cancel(e));
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('dblclick', () => this.zoomSelected());
    canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    document.addEventListener('keydown', (e) => this.key(e));
    document.addEventListener('keyup', (e) => this.held.delete(e.code));
    window.addEventListener('blur', () => this.held.clear());
  }

  /* ---- Pointers ---- */

  private down(e: PointerEvent): void {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(e.pointerId);
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    if (this.pointers.size === 2) return this.beginPinch();
    if (e.button) return;
    const kind = e.offsetY < axisHeight ? 'axis' : e.shiftKey ? 'area' : 'pan';
    this.drag = {
      kind,
      x: e.offsetX,
      y: e.offsetY,
      from: this.app.from,
      to: this.app.to,
      scroll: this.app.scroll,
      moved: false,
    };
  }

  private beginPinch(): void {
    const [a, b] = [...this.pointers.values()];
    this.drag = undefined;
    this.pinch = {
      span: Math.max(20, Math.abs(a!.x - b!.x)),
      from: this.app.from,
      to: this.app.to,
      middle: this.app.time((a!.x + b!.x) / 2),
    };
  }

  private move(e: PointerEvent): void {
    const known = this.pointers.get(e.pointerId);
    if (known) this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    if (this.pinch && this.pointers.size === 2) return this.movePinch();
    if (this.drag) return this.moveDrag(e);
    this.app.cursor =
      e.offsetX > this.app.gutter ? this.app.time(e.offsetX) : undefined;
    this.panels.hover(e.offsetX, e.offsetY, e.clientX, e.clientY);
  }

  private movePinch(): void {
    const [a, b] = [...this.pointers.values()];
    const p = this.pinch!;
    const span =
      ((p.to - p.from) * p.span) / Math.max(20, Math.abs(a!.x - b!.x));
    const part =
      ((a!.x + b!.x) / 2 - this.app.gutter) /
      (this.app.painter.width - this.app.gutter);
    this.app.show(p.middle - part * span, p.middle + (1 - part) * span);
  }

  private moveDrag(e: PointerEvent): void {
    const d = this.drag!;
    if (Math.abs(e.offsetX - d.x) + Math.abs(e.offsetY - d.y) > 4)
      d.moved = true;
    if (!d.moved) return;
    this.panels.hideTip();
    if (d.kind === 'pan') {
      const ns =
        ((d.x - e.offsetX) / (this.app.painter.width - this.app.gutter)) *
        (d.to - d.from);
      this.app.show(d.from + ns, d.to + ns);
      this.app.scrollTo(d.scroll + d.y - e.offsetY);
      return;
    }
    const a = this.app.time(d.x),
      b = this.app.time(e.offsetX);
    const top =
      d.kind === 'axis'
        ? 0
        : Math.min(d.y, e.offsetY) - axisHeight + this.app.scroll;
    const bottom =
      d.kind === 'axis'
        ? this.app.tracks.height
        : Math.max(d.y, e.offsetY) - axisHeight + this.app.scroll;
    this.app.area = { from: Math.min(a, b), to: Math.max(a, b), top, bottom };
    this.app.changed();
  }

  private async up(e: PointerEvent): Promise<void> {
    const d = this.drag;
    this.pointers.delete(e.pointerId);
    if (this.pointers.size < 2) this.pinch = undefined;
    this.drag = undefined;
    if (!d) return;
    if (d.moved && d.kind !== 'pan') return this.app.onArea();
    if (!d.moved) await this.click(e.offsetX, e.offsetY, e.shiftKey);
  }

  private async click(x: number, y: number, pin: boolean): Promise<void> {
    const { app } = this;
    if (y > axisHeight && x < app.gutter) {
      const line = app.tracks.at(y - axisHeight + app.scroll);
      if (line && pin) app.tracks.pin(line.group);
      else if (line) app.tracks.fold(line.group);
      return app.changed();
    }
    const hit = app.boxAt(x, y);
    if (hit) return app.select(hit.row, hit.box, app.labelOf(hit.box));
    const found = await app.pick(x, y);
    if (found) app.select(found.row, found.box, found.label);
    else app.unselect();
  }

  private cancel(e: PointerEvent): void {
    this.pointers.delete(e.pointerId);
    this.drag = undefined;
    this.pinch = undefined;
  }

  private leave(): void {
    this.app.cursor = undefined;
    this.app.hover = undefined;
    this.panels.hideTip();
    this.app.changed();
  }

  // The wheel scrolls, with Ctrl (or a pinch of a touchpad) it zooms, with
  // Shift it moves; so do sideways wheels.
  private wheel(e: WheelEvent): void {
    e.preventDefault();
    this.panels.hideTip();
    const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    const span = this.app.to - this.app.from;
    const width = this.app.painter.width - this.app.gutter;
    if (e.ctrlKey || e.metaKey || e.offsetY < axisHeight)
      this.app.zoom(
        Math.exp(e.deltaY * unit * 0.0025),
        this.app.time(Math.max(e.offsetX, this.app.gutter)),
      );
    else if (e.shiftKey)
      this.app.pan((((e.deltaY + e.deltaX) * unit) / width) * span);
    else {
      if (e.deltaX) this.app.pan(((e.deltaX * unit) / width) * span);
      if (e.deltaY) this.app.scrollTo(this.app.scroll + e.deltaY * unit);
    }
  }

  /* ---- Keys ---- */

  private zoomSelected(): void {
    const { app } = this;
    if (app.area) app.zoomTo(app.area.from, app.area.to);
    else if (app.selected)
      app.zoomTo(app.selected.box.start, app.selected.box.end);
  }

  // W, A, S, D act as long as they are held.
  private glide(now: number): void {
    const seconds = Math.min(0.05, (now - this.last) / 1000);
    this.last = now;
    const { app } = this,
      span = app.to - app.from;
    const middle = app.cursor ?? (app.from + app.to) / 2;
    if (this.held.has('KeyW')) app.zoom(Math.exp(-2.5 * seconds), middle);
    if (this.held.has('KeyS')) app.zoom(Math.exp(2.5 * seconds), middle);
    if (this.held.has('KeyA')) app.pan(-span * seconds);
    if (this.held.has('KeyD')) app.pan(span * seconds);
    if (this.held.size) requestAnimationFrame((t) => this.glide(t));
  }

  private hold(code: string): void {
    const idle = !this.held.size;
    this.held.add(code);
    this.last = performance.now();
    if (idle) requestAnimationFrame((t) => this.glide(t));
  }

  private static isTyping(target: EventTarget | null): boolean {
    return (
      target instanceof HTMLInputElement ||
      target instanceof HTMLTextAreaElement ||
      target instanceof HTMLSelectElement
    );
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (Input.isTyping(e.target)) {
      if (e.key === 'Escape') this.canvas.focus();
      return;
    }
    if (
      e.target instanceof HTMLButtonElement &&
      (e.key === 'Enter' || e.key === ' ')
    )
      return;
    const act = this.action(e);
    if (!act) return;
    e.preventDefault();
    act();
  }

  private action(e: KeyboardEvent): (() => void) | undefined {
    const { app, panels } = this;
    const onCanvas =
      document.activeElement === this.canvas ||
      document.activeElement === document.body;
    if (/^Key[WASD]$/.test(e.code) && !e.shiftKey)
      return () => this.hold(e.code);
    if (e.key.startsWith('Arrow') && !onCanvas) return undefined;
    switch (e.key) {
      case 'ArrowRight':
        return () => app.step(1);
      case 'ArrowLeft':
        return () => app.step(-1);
      case 'ArrowDown':
        return () => app.stepRow(1);
      case 'ArrowUp':
        return () => app.stepRow(-1);
      case 'PageDown':
        return () => app.scrollTo(app.scroll + 300);
      case 'PageUp':
        return () => app.scrollTo(app.scroll - 300);
      case '+':
        return () => app.zoom(0.6, (app.from + app.to) / 2);
      case '-':
        return () => app.zoom(1 / 0.6, (app.from + app.to) / 2);
      case '0':
        return () => app.showAll();
      case 'f':
        return () => this.zoomSelected();
      case 'n':
        return () => void app.next(false);
      case 'N':
        return () => void app.next(true);
      case '/':
        return () => panels.focusSearch();
      case '?':
        return () => panels.open('help');
      case 'e':
        return () => panels.open('why');
      case 'i':
        return () => panels.open('idle');
      case 'x':
        return () => panels.open('whatif');
      case 't':
        return () => panels.open('table');
      case 'r':
        return () => panels.open('trace');
      case 'p':
        return () => void panels.togglePath();
      case 'o':
        return () => app.arrows.toggle();
      case 'k':
        return () => panels.open('tracks');
      case 'h':
        return () => panels.hideSelected();
      case 'P':
        return () => panels.pinSelected();
      case 'b':
        return () => void panels.writeNote();
      case 'c':
        return () => panels.open('compare');
      case 'q':
        return () => panels.open('query');
      case 'y':
        return () => panels.open('checks');
      case 'g':
        return () => panels.open('export');
      case 'm':
        return () => app.setDark();
      case 'v':
        return () => panels.selectWindow();
      case 'Escape':
        return () => panels.escape();
      default:
        return undefined;
    }
  }
}
