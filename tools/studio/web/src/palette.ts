// Colours: hues of boxes as bytes, see hue_of in scene.c.

export interface Theme {
  dark: boolean;
  background: string;
  panel: string;
  line: string;
  text: string;
  faint: string;
  accent: string;
  grid: string;
  band: string;
  selection: string;
  arrow: string;
  slower: string;
  faster: string;
  boxes: string[]; // by hue
  onBoxes: string; // text on them
  rgb: Uint8Array; // of `boxes`, three bytes each
}

// Of causes of idle time, in the order of TS_IDLES; told apart by people who do
// not see red and green alike (after Okabe and Ito).
const idleColors = [
  '#d55e00',
  '#e69f00',
  '#0072b2',
  '#56b4e9',
  '#cc79a7',
  '#f0e442',
  '#882255',
  '#888888',
  '#009e73',
];
// Of costs, in the order of TS_COSTS.
const costColors = [
  '#d55e00',
  '#e69f00',
  '#009e73',
  '#56b4e9',
  '#cc79a7',
  '#f0e442',
  '#888888',
];

function boxColor(hue: number, dark: boolean): string {
  if (hue >= 240 && hue < 240 + idleColors.length)
    return idleColors[hue - 240]!;
  if (hue >= 220 && hue < 227) return costColors[hue - 220]!;
  if (hue === 210) return dark ? '#3f7d5c' : '#8fcfac';
  if (hue === 0 || hue > 200) return dark ? '#5a6270' : '#b8bec8';
  const angle = Math.round((hue * 137.508) % 360);
  return dark ? `hsl(${angle} 42% 42%)` : `hsl(${angle} 58% 74%)`;
}

function toRgb(colors: string[]): Uint8Array {
  const context = new OffscreenCanvas(colors.length, 1).getContext('2d', {
    willReadFrequently: true,
  })!;
  colors.forEach((color, i) => {
    context.fillStyle = color;
    context.fillRect(i, 0, 1, 1);
  });
  const pixels = context.getImageData(0, 0, colors.length, 1).data;
  const rgb = new Uint8Array(3 * colors.length);
  for (let i = 0; i < colors.length; i++)
    rgb.set(pixels.subarray(4 * i, 4 * i + 3), 3 * i);
  return rgb;
}

function make(dark: boolean): Theme {
  const boxes = Array.from({ length: 256 }, (_, hue) => boxColor(hue, dark));
  return {
    dark,
    boxes,
    rgb: toRgb(boxes),
    ...(dark
      ? {
          background: '#14171c',
          panel: '#1b1f26',
          line: '#2c323c',
          text: '#e4e8ee',
          faint: '#98a2b0',
          accent: '#5cb2ff',
          grid: '#20252d',
          band: '#181c22',
          selection: '#5cb2ff33',
          arrow: '#ff9d5c',
          slower: '#ff5470',
          faster: '#56b4e9',
          onBoxes: '#ffffff',
        }
      : {
          background: '#ffffff',
          panel: '#f6f7f9',
          line: '#d5dae1',
          text: '#1b212b',
          faint: '#5b6675',
          accent: '#0b62c4',
          grid: '#eceff3',
          band: '#f8f9fb',
          selection: '#0b62c422',
          arrow: '#b3400a',
          slower: '#c3102f',
          faster: '#0072b2',
          onBoxes: '#10151d',
        }),
  };
}

const themes = new Map<boolean, Theme>();

export function theme(dark: boolean): Theme {
  if (!themes.has(dark)) themes.set(dark, make(dark));
  return themes.get(dark)!;
}

export function idleColor(cause: number): string {
  return idleColors[cause] ?? '#888888';
}

export function costColor(cost: number): string {
  return costColors[cost] ?? '#888888';
}
