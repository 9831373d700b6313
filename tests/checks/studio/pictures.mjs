// The tracks look as they did: small copies of pictures of them are compared
// with those kept beside this script.
//   node pictures.mjs FOLDER
// FOLDER has view.html and waits.html, pages of the traces of that name in
// tests/cli. GOLDEN=write keeps what is seen now. Prints TAP.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const kept = new URL('pictures/', import.meta.url);
const require = createRequire(`${process.cwd()}/build/studio/check/`);
const { default: puppeteer } = await import(
  pathToFileURL(require.resolve('puppeteer-core')));
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1'],
});

const pictures = {
  'tracks': { page: 'view' },
  'tracks-dark': { page: 'view', scheme: 'dark' },
  'causes': { page: 'waits' },
  'path': { page: 'waits', keys: ['p'],
    shown: () => studio.tracks.lines[0].row.type === 9 &&
      studio.arrows.window.length },
  'arrows': { page: 'waits', keys: ['o'],
    shown: () => studio.arrows.window.length },
  'narrow': { page: 'view', width: 390, height: 780 },
};

// An eighth of each side: a pixel more or less blurs, what is missing stays.
const SMALLER = 8;

// The small copy of a picture as bytes of RGBA and as PNG, made by the browser.
async function shrink(tab, png, smaller = SMALLER) {
  return tab.evaluate(async (url, smaller) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const width = Math.ceil(image.width / smaller);
    const height = Math.ceil(image.height / smaller);
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width, height });
    const c = canvas.getContext('2d');
    c.imageSmoothingQuality = 'high';
    c.drawImage(image, 0, 0, width, height);
    return { data: [...c.getImageData(0, 0, width, height).data], width, height,
      png: canvas.toDataURL('image/png').split(',')[1] };
  }, `data:image/png;base64,${png}`, smaller);
}

// The tracks without their texts, whose fonts and widths each machine has of
// its own.
async function take(picture) {
  const tab = await browser.newPage();
  await tab.setViewport({ width: picture.width ?? 1280,
    height: picture.height ?? 800 });
  await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme',
    value: picture.scheme ?? 'light' }]);
  await tab.evaluateOnNewDocument(() => {
    CanvasRenderingContext2D.prototype.fillText = () => {};
  });
  await tab.goto(pathToFileURL(`${folder}/${picture.page}.html`).href);
  await tab.waitForSelector('[data-ready]', { timeout: 60000 });
  for (const key of picture.keys ?? []) await tab.keyboard.press(key);
  if (picture.shown) await tab.waitForFunction(picture.shown);
  await tab.waitForFunction(() => studio.settled(), { timeout: 60000 });
  const tracks = await tab.$('#tracks');
  const shot = await tracks.screenshot({ encoding: 'base64' });
  await tab.close();
  return shot;
}

// Why two small pictures are not the same, or nothing.
function difference(now, then) {
  if (now.width !== then.width || now.height !== then.height)
    return `${now.width} x ${now.height} cells, not ${then.width} x ` +
      `${then.height}`;
  let other = 0, sum = 0;
  for (let i = 0; i < now.data.length; i += 4) {
    const most = Math.max(...[0, 1, 2].map((c) =>
      Math.abs(now.data[i + c] - then.data[i + c])));
    other += most > 40;
    sum += most;
  }
  const cells = now.data.length / 4;
  return other > cells / 300 || sum > cells
    ? `${other} of ${cells} cells differ, by ${(sum / cells).toFixed(1)} in ` +
      'the mean' : '';
}

// Pictures are shrunk in an empty page: that of the trace allows no images.
const empty = await browser.newPage();
const names = Object.keys(pictures);
let failed = 0;
console.log(`1..${names.length}`);
for (const [i, name] of names.entries()) {
  const file = new URL(`${name}.png`, kept);
  const shot = await take(pictures[name]);
  const now = await shrink(empty, shot);
  if (process.env.GOLDEN === 'write')
    writeFileSync(file, Buffer.from(now.png, 'base64'));
  const why = !existsSync(file) ? 'no picture of it is kept'
    : difference(now, await shrink(empty, readFileSync(file, 'base64'), 1));
  if (why) {
    failed++;
    writeFileSync(`${folder}/${name}.png`, Buffer.from(shot, 'base64'));
    console.log(`not ok ${i + 1} - ${name}\n#  ${why}; see ` +
      `${folder}/${name}.png, and if it is right: GOLDEN=write`);
  } else
    console.log(`ok ${i + 1} - ${name}`);
}
await browser.close();
process.exit(failed ? 1 : 0);
