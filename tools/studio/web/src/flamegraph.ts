// A flame graph, drawn from the top, and the same as a table.
import { button, el, table } from './dom';
import { count, duration, share, visible } from './format';
import type { Flame } from './wire';
import type { App } from './app';

interface Node_ {
  id: number;
  text: string;
  hue: number;
  count: number;
  total: number;
  depth: number;
  parent?: Node_;
  children: Node_[];
}

const high = 18;
const width = 410;

export class Flamegraph {
  private readonly root: Node_;
  private at: Node_;
  private readonly holder = el('div', {});

  constructor(
    private readonly app: App,
    private readonly tree: Flame,
    path: string[], // of the one that this replaces
  ) {
    this.root = {
      id: -1,
      text: 'all',
      hue: 0,
      count: 0,
      total: 0,
      depth: 0,
      children: [],
    };
    const made: Node_[] = [];
    for (const [id, n] of tree.nodes.entries()) {
      const parent = n.parent < 0 ? this.root : made[n.parent]!;
      const node = { ...n, id, depth: parent.depth + 1, parent, children: [] };
      made.push(node);
      parent.children.push(node);
    }
    this.root.total = this.root.children.reduce((sum, n) => sum + n.total, 0);
    this.at = this.root;
    for (const text of path) {
      const next = this.at.children.find((n) => n.text === text);
      if (!next) break;
      this.at = next;
    }
  }

  // The names that lead to what is shown.
  get path(): string[] {
    const names = [];
    for (let at: Node_ = this.at; at.parent; at = at.parent)
      names.unshift(at.text);
    return names;
  }

  nodes(): Node[] {
    this.fill();
    return [this.holder];
  }

  private zoom(node: Node_): void {
    this.at = node;
    this.fill();
  }

  private self(node: Node_): number {
    return node.total - node.children.reduce((sum, n) => sum + n.total, 0);
  }

  private depth(node: Node_): number {
    return node.children.reduce(
      (most, n) => Math.max(most, 1 + this.depth(n)),
      0,
    );
  }

  private draw(): HTMLCanvasElement {
    const rows = Math.min(60, 1 + this.depth(this.at));
    const canvas = el('canvas', {
      width: String(width),
      height: String(rows * high),
      role: 'img',
      class: 'flame',
      'aria-label': 'Flame graph; the table below has the same',
    });
    const c = canvas.getContext('2d')!;
    const drawn: { x: number; y: number; w: number; node: Node_ }[] = [];
    c.font = '11px system-ui, "DejaVu Sans", sans-serif';
    c.textBaseline = 'middle';
    const put = (node: Node_, x: number, w: number, row: number): void => {
      if (w < 0.7 || row >= rows) return;
      c.fillStyle = this.app.theme.boxes[node.hue]!;
      c.fillRect(x, row * high, Math.max(0.7, w - 0.6), high - 1);
      drawn.push({ x, y: row * high, w, node });
      if (w > 24) {
        c.fillStyle = this.app.theme.onBoxes;
        const most = Math.floor(w / 6);
        const text = visible(node.text);
        c.fillText(
          text.length > most ? `${text.slice(0, most - 1)}…` : text,
          x + 3,
          row * high + high / 2,
          w - 5,
        );
      }
      for (const n of node.children) {
        const part = node.total > 0 ? (n.total / node.total) * w : 0;
        put(n, x, part, row + 1);
        x += part;
      }
    };
    put(this.at, 0, width, 0);
    const hit = (e: MouseEvent): Node_ | undefined =>
      drawn.findLast(
        (d) =>
          e.offsetX >= d.x &&
          e.offsetX < d.x + d.w &&
          e.offsetY >= d.y &&
          e.offsetY < d.y + high,
      )?.node;
    canvas.addEventListener('click', (e) => {
      const node = hit(e);
      if (node) this.zoom(node === this.at ? this.root : node);
    });
    canvas.addEventListener('pointermove', (e) => {
      const node = hit(e);
      canvas.title = node
        ? `${visible(node.text)}: ${duration(node.total)}, ${share(node.total, this.root.total)}`
        : '';
    });
    return canvas;
  }

  // The children, the largest first, then theirs, as deep as there is room.
  private rows(): Node_[] {
    const list: Node_[] = [];
    const walk = (node: Node_): void => {
      for (const n of node.children) {
        if (list.length >= 150) return;
        if (n.total * 200 < this.at.total && list.length > 20) return;
        list.push(n);
        walk(n);
      }
    };
    walk(this.at);
    return list;
  }

  private fill(): void {
    const { tree, at } = this;
    const back = button('Show all', () => this.zoom(this.root));
    this.holder.replaceChildren(
      el(
        'p',
        { class: 'faint', id: 'flame' },
        `${visible(at.text)}: ${duration(at.total)}` +
          (tree.nodes.length < tree.all
            ? `; the ${count(tree.nodes.length)} largest of ${count(tree.all)} nodes`
            : '') +
          (tree.full
            ? '; further ones are part of what they lie in, or of “others”'
            : ''),
      ),
      ...(at === this.root ? [] : [el('div', { class: 'row' }, back)]),
      this.draw(),
      table<Node_>(
        'The same as a table; a name shows what is in it',
        [
          {
            title: 'name',
            cell: (n) =>
              '\u00a0\u00a0'.repeat(Math.min(20, n.depth - at.depth - 1)) +
              n.text,
          },
          { title: 'total', number: true, cell: (n) => duration(n.total) },
          { title: 'self', number: true, cell: (n) => duration(this.self(n)) },
          {
            title: 'share',
            number: true,
            cell: (n) => share(n.total, this.root.total),
          },
          { title: 'count', number: true, cell: (n) => count(n.count) },
        ],
        this.rows(),
        (n) => this.zoom(n),
      ),
    );
  }
}
