// A canvas that writes SVG: what the painter uses of a canvas, and no more.

function escape(text: string): string {
  return text
    .replace(/[\u0000-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export class SvgCanvas {
  fillStyle = '#000';
  strokeStyle = '#000';
  globalAlpha = 1;
  lineWidth = 1;
  font = '';
  textBaseline = '';
  imageSmoothingEnabled = false;
  private readonly parts: string[] = [];
  private path = '';
  private dash = '';
  private groups = 0;
  private readonly open: number[] = [];

  private paint(style: 'fill' | 'stroke'): string {
    const color = style === 'fill' ? this.fillStyle : this.strokeStyle;
    const alpha = this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : '';
    return style === 'fill'
      ? `fill="${escape(color)}"${alpha}`
      : `fill="none" stroke="${escape(color)}" stroke-width="${n(this.lineWidth)}"${this.dash}${alpha}`;
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" ` +
        `height="${n(Math.max(0, h))}" ${this.paint('fill')}/>`,
    );
  }

  strokeRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, w))}" ` +
        `height="${n(Math.max(0, h))}" ${this.paint('stroke')}/>`,
    );
  }

  fillText(text: string, x: number, y: number): void {
    this.parts.push(
      `<text x="${n(x)}" y="${n(y)}" ${this.paint('fill')}>${escape(text)}</text>`,
    );
  }

  beginPath(): void {
    this.path = '';
  }

  moveTo(x: number, y: number): void {
    this.path += `M${n(x)} ${n(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${n(x)} ${n(y)}`;
  }

  bezierCurveTo(...p: number[]): void {
    this.path += `C${p.map(n).join(' ')}`;
  }

  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`;
  }

  setLineDash(dash: number[]): void {
    this.dash = dash.length ? ` stroke-dasharray="${dash.join(' ')}"` : '';
  }

  stroke(): void {
    this.parts.push(`<path d="${this.path}" ${this.paint('stroke')}/>`);
  }

  fill(): void {
    this.parts.push(`<path d="${this.path}" ${this.paint('fill')}/>`);
  }

  save(): void {
    this.open.push(0);
  }

  clip(): void {
    const id = `c${++this.groups}`;
    this.parts.push(
      `<clipPath id="${id}"><path d="${this.path}"/></clipPath>` +
        `<g clip-path="url(#${id})">`,
    );
    if (this.open.length) this.open[this.open.length - 1]!++;
  }

  restore(): void {
    this.parts.push('</g>'.repeat(this.open.pop() ?? 0));
  }

  document(width: number, height: number): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" ` +
      `height="${height}" viewBox="0 0 ${width} ${height}" ` +
      'font-family="system-ui, DejaVu Sans, sans-serif" font-size="11" ' +
      `dominant-baseline="middle">\n${this.parts.join('\n')}\n</svg>\n`
    );
  }
}
