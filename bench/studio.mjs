// Opens traces in the page of ts-studio, in a headless Chromium, zooms and pans
// by keyboard, and prints how long frames took.
//   node studio.mjs PACKAGES SECONDS PAGE TRACE...
// PACKAGES: a folder with puppeteer-core. PAGE asks for a file.
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, seconds, page, ...traces] = process.argv.slice(2);
const require = createRequire(resolve(packages) + '/');
const { default: puppeteer } = await import(
  pathToFileURL(require.resolve('puppeteer-core')));

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1'],
  protocolTimeout: 600000,
});

function quantile(sorted, part) {
  return sorted.length
    ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
    : NaN;
}

// Records the times between frames, of requests and of paints from now on.
function watch() {
  const { studio } = globalThis;
  globalThis.seen = { frames: [], query: [], paint: [] };
  for (const name of ['query', 'paint']) {
    const list = studio[`${name}Ms`];
    const push = list.push.bind(list);
    list.push = (ms) => {
      globalThis.seen[name].push(ms);
      return push(ms);
    };
  }
  let last = performance.now();
  const tick = (now) => {
    globalThis.seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// Zooms in, pans there and back, zooms out, again and again.
async function tour(tab) {
  const end = Date.now() + Number(seconds) * 1000;
  for (let turn = 0; Date.now() < end; turn++)
    for (const [key, ms] of [['w', 2500], ['d', 1500], ['w', 1500], ['a', 3000],
      ['s', 4200]]) {
      await tab.keyboard.down(key);
      await wait(Math.min(ms, Math.max(0, end - Date.now())));
      await tab.keyboard.up(key);
    }
}

async function measure(trace) {
  const tab = await browser.newPage();
  await tab.setViewport({ width: 1920, height: 1080 });
  await tab.goto(pathToFileURL(resolve(page)).href);
  const input = await tab.waitForSelector('#file');
  const begin = Date.now();
  await input.uploadFile(trace);
  await tab.waitForSelector('[data-ready]', { timeout: 600000 });
  const first = Date.now() - begin;
  await tab.evaluate(watch);
  await tour(tab);
  const seen = await tab.evaluate(() => globalThis.seen);
  await tab.close();
  for (const list of Object.values(seen)) list.sort((a, b) => a - b);
  return { first, seen };
}

const heads = ['frame ms', 'query ms', 'paint ms'].map((t) => t.padStart(18));
console.log('trace'.padEnd(16) + '     MB  first ' + heads.join('') +
  '  frames');
console.log(' '.repeat(28) + 'ms ' + '  50 %  95 %  99 %'.repeat(3));
for (const trace of traces) {
  const { first, seen } = await measure(trace);
  const figures = [seen.frames, seen.query, seen.paint].flatMap((list) =>
    [0.5, 0.95, 0.99].map((p) => quantile(list, p).toFixed(1).padStart(6)));
  console.log(basename(trace).padEnd(16) +
    (statSync(trace).size / 1e6).toFixed(0).padStart(7) +
    String(first).padStart(7) + ' ' + figures.join('') +
    String(seen.frames.length).padStart(8));
}
await browser.close();
