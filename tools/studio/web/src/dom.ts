// Elements without markup: texts go through textContent only.
import { visible } from './format';

export type Child = Node | string | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | EventListener> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (typeof value === 'boolean') element.toggleAttribute(name, value);
    else element.setAttribute(name, value);
  }
  add(element, ...children);
  return element;
}

export function add(to: Element, ...children: Child[]): void {
  for (const child of children)
    if (child instanceof Node) to.append(child);
    else if (child) to.append(visible(child));
}

export function button(
  text: string,
  press: () => void,
  title = '',
): HTMLButtonElement {
  return el('button', { type: 'button', title, click: press }, text);
}

export interface Column<T> {
  title: string;
  cell: (row: T) => Child;
  number?: boolean;
}

export function table<T>(
  caption: string,
  columns: Column<T>[],
  rows: T[],
  press?: (row: T) => void,
): HTMLTableElement {
  const head = el(
    'tr',
    {},
    ...columns.map((c) =>
      el('th', { scope: 'col', class: c.number ? 'number' : '' }, c.title),
    ),
  );
  const body = el('tbody');
  for (const row of rows) {
    const cells = columns.map((c, i) => {
      const content = c.cell(row);
      const inner =
        press && !i
          ? el(
              'button',
              { type: 'button', class: 'link', click: () => press(row) },
              content,
            )
          : content;
      return el('td', { class: c.number ? 'number' : '' }, inner);
    });
    body.append(el('tr', {}, ...cells));
  }
  return el(
    'table',
    {},
    el('caption', {}, caption),
    el('thead', {}, head),
    body,
  );
}

// A bar of shares, with its text beside it for those who do not see it.
export function bar(
  parts: { ns: number; color: string; title: string }[],
  whole: number,
): HTMLElement {
  const canvas = el('canvas', {
    width: '240',
    height: '12',
    role: 'img',
    'aria-label': parts.map((p) => p.title).join(', '),
    class: 'bar',
  });
  const context = canvas.getContext('2d')!;
  let at = 0;
  for (const part of parts) {
    const width = whole > 0 ? (part.ns / whole) * 240 : 0;
    context.fillStyle = part.color;
    context.fillRect(at, 0, width, 12);
    at += width;
  }
  return canvas;
}
