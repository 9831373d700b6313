// Numbers as people read them.

export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${digits(ns / 1e3)} µs`;
  if (size < 1e9) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1);
}

export function count(n: number): string {
  return Math.round(n).toLocaleString('en-US');
}

export function share(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '-';
}

export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  for (; n >= 1024 && at < units.length - 1; at++) n /= 1024;
  return `${at ? n.toFixed(1) : n} ${units[at]}`;
}

// A moment, with as many digits as `step` needs.
export function moment(ns: number, step: number): string {
  const places = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(step))));
  return `${(ns / 1e9).toFixed(places)} s`;
}

export function real(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return count(value);
  return value.toPrecision(5);
}

// A value of a counter.
export function amount(value: number, unit: string): string {
  if (unit === 'bytes') return bytes(value);
  if (unit === 'bytes/s') return `${(value / 1e9).toFixed(3)} GB/s`;
  return `${real(value)} ${unit}`.trimEnd();
}

// Steps of an axis: 1, 2 or 5 times a power of ten.
export function axisStep(range: number, most: number): number {
  const least = Math.max(1, range / most);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? least;
}

// Characters that would change the order of what stands beside them, and
// controls, are made visible: names are somebody else's.
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
