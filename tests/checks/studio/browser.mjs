// The page in a real browser: opens, looks, searches, explains, simulates, by
// mouse and by keyboard; asks nobody; runs nothing that a trace says.
//   node browser.mjs PAGE HOSTILE-PAGE ADDRESS SENTENCE PICTURES LIVE RECORDER
// ADDRESS: of a server; SENTENCE: of ts-analyze on why devices were idle. LIVE:
// of a server of the trace that process RECORDER is writing.
// Prints TAP.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [page, hostile, address, sentence, pictures, live, recorder] =
  process.argv.slice(2);
const require = createRequire(`${process.cwd()}/build/studio/check/`);
const { default: puppeteer } = await import(
  pathToFileURL(require.resolve('puppeteer-core')));
const axe = require.resolve('axe-core/axe.min.js');
mkdirSync(pictures, { recursive: true });

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1'],
  protocolTimeout: 120000,
});

/* ---- What tests use ------------------------------------------------------ */

// Opens an address; what the page asks for and complains about is kept.
async function open(url) {
  const tab = await browser.newPage();
  const seen = { requests: [], errors: [] };
  await tab.setViewport({ width: 1280, height: 800 });
  await tab.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: 'light' }]);
  tab.on('request', (r) => seen.requests.push(r.url()));
  tab.on('pageerror', (e) => seen.errors.push(e.message));
  tab.on('dialog', (d) => {
    seen.errors.push(`a dialog: ${d.message()}`);
    void d.dismiss();
  });
  const log = await tab.createCDPSession();
  await log.send('Log.enable');
  log.on('Log.entryAdded', (e) => seen.errors.push(e.entry.text));
  await tab.goto(url);
  await tab.waitForSelector('[data-ready]', { timeout: 60000 });
  await settle(tab);
  return { tab, seen };
}

// Waits until the page shows what it was asked to.
async function settle(tab) {
  await tab.waitForFunction(() => globalThis.studio?.settled(), {
    timeout: 60000 });
}

async function text(tab, selector) {
  return tab.$eval(selector, (e) => e.textContent);
}

async function window_(tab) {
  return tab.evaluate(() => [studio.from, studio.to]);
}

async function selected(tab) {
  return tab.evaluate(() => studio.selected?.label?.text);
}

function same(what, a, b) {
  if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
}

function is(what, ok) {
  if (!ok) throw new Error(what);
}

async function press(tab, ...keys) {
  for (const key of keys) await tab.keyboard.press(key);
  await settle(tab);
}

async function fresh(tab) {
  await tab.evaluate(() => {
    studio.unselect();
    studio.showAll();
    studio.scrollTo(0);
    document.getElementById('tracks').focus();
  });
  await settle(tab);
}

/* ---- Tests --------------------------------------------------------------- */

const one = await open(pathToFileURL(page).href);
const { tab } = one;

const tests = {
  async 'a page opens from a file and asks nobody'() {
    const asked = one.seen.requests.filter((url) =>
      !url.startsWith('blob:') && !url.startsWith('data:'));
    same('requests', asked.length, 1); // the page itself
    same('errors', one.seen.errors.join(), '');
    const rows = await tab.evaluate(() => studio.tracks.lines.length);
    is('rows are shown', rows > 5);
    await tab.screenshot({ path: `${pictures}/page.png` });
  },

  async 'the canvas shows boxes, not a blank'() {
    const colors = await tab.evaluate(() => {
      const c = document.getElementById('tracks');
      const d = c.getContext('2d').getImageData(230, 40, c.width - 240,
        c.height - 80).data;
      const all = new Set();
      for (let i = 0; i < d.length; i += 4)
        all.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
      return all.size;
    });
    is(`${colors} colours`, colors > 20);
  },

  async 'the wheel zooms with Ctrl, where the pointer is'() {
    await fresh(tab);
    const [from, to] = await window_(tab);
    await tab.mouse.move(700, 300);
    const time = await tab.evaluate(() => studio.time(700));
    await tab.keyboard.down('Control');
    await tab.mouse.wheel({ deltaY: -400 });
    await tab.keyboard.up('Control');
    await settle(tab);
    const [a, b] = await window_(tab);
    is('it is narrower', b - a < (to - from) / 2);
    is('what was under the pointer stays there',
      Math.abs(await tab.evaluate(() => studio.time(700)) - time) < (b - a) /
        100);
  },

  async 'a drag moves, W and D glide'() {
    await tab.mouse.move(700, 300);
    const [before] = await window_(tab);
    await tab.mouse.down();
    await tab.mouse.move(600, 300, { steps: 4 });
    await tab.mouse.up();
    await settle(tab);
    const [after, end] = await window_(tab);
    is('it moved to the right', after > before);
    await tab.keyboard.down('w');
    await tab.waitForFunction((span) => studio.to - studio.from < span * 0.9,
      {}, end - after);
    await tab.keyboard.up('w');
    const [middle] = await window_(tab);
    await tab.keyboard.down('d');
    await tab.waitForFunction((from) => studio.from > from, {}, middle);
    await tab.keyboard.up('d');
    await settle(tab);
  },

  async 'hovering tells all of an event'() {
    await fresh(tab);
    const at = await tab.evaluate(() => {
      const line = studio.tracks.lines.find((l) => l.row.type === 6);
      const box = studio.painter.viewOf(line.row.id).boxes[0] ?? { start:
        studio.from, end: studio.to };
      const canvas = document.getElementById('tracks').getBoundingClientRect();
      return [canvas.x + studio.painter.x(studio.picture(),
        (box.start + box.end) / 2), canvas.y + 30 + line.top + 8];
    });
    await tab.mouse.move(at[0], at[1]);
    await tab.waitForSelector('#tip:not([hidden])', { timeout: 20000 });
    is('its kind is there', (await text(tab, '#tip')).includes('kind'));
    await tab.mouse.move(5, 5);
  },

  async 'a search goes from match to match'() {
    await fresh(tab);
    await press(tab, '/');
    await tab.keyboard.type('launch');
    await tab.waitForFunction(() =>
      /^[1-9].* found$/.test(document.getElementById('found').textContent));
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => studio.selected);
    await settle(tab);
    const first = await tab.evaluate(() => studio.selected.box.start);
    is('it matches', /launch/i.test(await selected(tab)));
    await tab.keyboard.press('Enter');
    await tab.waitForFunction((t) => studio.selected.box.start > t, {}, first);
    await settle(tab);
    await tab.screenshot({ path: `${pictures}/search.png` });
    await tab.$eval('#query', (e) => {
      e.value = '';
      e.dispatchEvent(new Event('input'));
    });
  },

  async 'an area has statistics'() {
    await fresh(tab);
    await tab.keyboard.down('Shift');
    await tab.mouse.move(400, 200);
    await tab.mouse.down();
    await tab.mouse.move(800, 500, { steps: 4 });
    await tab.mouse.up();
    await tab.keyboard.up('Shift');
    await tab.waitForSelector('#panel tbody tr');
    const head = await text(tab, '#panel h2');
    is(head, /selected$/.test(head));
    await press(tab, 'Escape', 'Escape');
  },

  // From the opened page: i, the sentence is there; a gap; its chain.
  async 'three inputs lead to why the device waited'() {
    await fresh(tab);
    await press(tab, 'i');
    await tab.waitForSelector('#answer-idle');
    same('the sentence', await text(tab, '#answer-idle'), sentence);
    await tab.screenshot({ path: `${pictures}/idle.png` });
    await tab.evaluate(() => [...document.querySelectorAll('#panel table')]
      .at(-1).querySelector('button').click());
    await tab.waitForSelector('#panel ol.reasons li:nth-child(3)');
    await settle(tab);
    is('a chain in words', /was idle for/.test(
      await text(tab, '#panel ol.reasons li')));
    await tab.screenshot({ path: `${pictures}/why.png` });
  },

  async 'the critical path is a row, and marks operations'() {
    await fresh(tab);
    await press(tab, 'p');
    await tab.waitForFunction(() => studio.tracks.lines[0].row.type === 9);
    await settle(tab);
    await tab.screenshot({ path: `${pictures}/path.png` });
    await press(tab, 'p');
  },

  async 'a what-if has a makespan and a ghost'() {
    await fresh(tab);
    await press(tab, 'x');
    await tab.waitForSelector('#panel form');
    await tab.$eval('#panel form input', (e) => e.focus());
    await tab.keyboard.type('.');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector('#makespan', { timeout: 60000 });
    await settle(tab);
    is('it says what is gained', /less\.$/.test(await text(tab, '#makespan')));
    is('a ghost is shown', await tab.evaluate(() =>
      studio.tracks.lines.some((l) => l.row.type === 7)));
    await tab.screenshot({ path: `${pictures}/whatif.png` });
  },

  async 'everything is there as tables'() {
    await fresh(tab);
    await press(tab, 't');
    await tab.waitForSelector('#panel table');
    const rows = await tab.$$eval('#panel tbody tr', (all) => all.length);
    is(`${rows} rows`, rows > 10);
    await press(tab, 'Escape');
  },

  async 'the keyboard alone goes from box to box'() {
    await fresh(tab);
    await press(tab, 'ArrowRight');
    const first = await tab.evaluate(() => studio.selected?.box.start);
    is('something is selected', first !== undefined);
    await press(tab, 'ArrowDown', 'ArrowDown', 'ArrowRight', 'f', 'e');
    await tab.waitForSelector('#panel h2');
    const status = await text(tab, '#status');
    is('it is announced', status.includes(', on '));
    await press(tab, 'Escape', '?');
    is('keys are told', (await text(tab, '#panel')).includes('search names'));
    await press(tab, 'Escape', '0');
  },

  async 'the address keeps the view'() {
    await fresh(tab);
    await press(tab, '+', '+', 'ArrowRight');
    await tab.waitForFunction(() => { // it is written a moment later
      const at = (time) => Math.round(time - studio.info.first);
      return location.hash.includes('s=') &&
        location.hash.includes(`t=${at(studio.from)}-${at(studio.to)}&`);
    });
    const [from, to] = await window_(tab);
    const again = await open(tab.url());
    try {
      const [a, b] = await window_(again.tab);
      is('the same window', Math.abs(a - from) < 2 && Math.abs(b - to) < 2);
      await again.tab.waitForFunction(() => studio.selected);
      same('the same box', await selected(again.tab), await selected(tab));
    } finally {
      await again.tab.close();
      await tab.bringToFront(); // only then does it paint
    }
  },

  async 'axe finds nothing'() {
    await fresh(tab);
    await press(tab, 'i');
    await tab.evaluate(await (await import('node:fs/promises'))
      .readFile(axe, 'utf8'));
    const found = await tab.evaluate(async () => (await axe.run(document, {
      rules: { 'nested-interactive': { enabled: true } } })).violations.map(
      (v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 99)).join(' | ')}`));
    same('violations', found.join('\n'), '');
    await press(tab, 'Escape');
  },

  async 'dark, and narrow as a phone'() {
    await press(tab, 'm');
    await tab.setViewport({ width: 390, height: 780 });
    await settle(tab);
    await tab.screenshot({ path: `${pictures}/phone.png` });
    is('the tracks have room', await tab.evaluate(() =>
      studio.painter.height > 200));
    same('errors', one.seen.errors.join(), '');
  },

  async 'names of a hostile trace do nothing'() {
    const evil = await open(pathToFileURL(hostile).href);
    await press(evil.tab, '/');
    await evil.tab.keyboard.type('img');
    await evil.tab.waitForSelector('#panel tbody tr');
    await press(evil.tab, 'Enter');
    await evil.tab.waitForFunction(() => studio.selected);
    await settle(evil.tab);
    same('errors', evil.seen.errors.join(), '');
    same('images', await evil.tab.$$eval('img, iframe', (a) => a.length), 0);
    same('scripts ran', await evil.tab.evaluate(() => globalThis.hacked),
      undefined);
    const shown = await text(evil.tab, '#panel');
    is('its markup is text', shown.includes('<img'));
    is('no control of direction', !/[\u202a-\u202e]/.test(shown));
    await evil.tab.screenshot({ path: `${pictures}/hostile.png` });
    await evil.tab.close();
  },

  async 'a server shows the same, with its token only'() {
    if (address === '-') throw new Error('SKIP this build has no server');
    const served = await open(address);
    same('requests of others', served.seen.requests.filter((url) =>
      !url.startsWith(new URL(address).origin) &&
      !url.startsWith('data:')).length, 0);
    same('errors', served.seen.errors.join(), '');
    await press(served.tab, 'i');
    await served.tab.waitForSelector('#answer-idle');
    same('the sentence', await text(served.tab, '#answer-idle'), sentence);
    await served.tab.close();
    const wrong = address.replace(/token=../, 'token=zz');
    const closed = await browser.newPage();
    await closed.goto(wrong);
    await closed.waitForFunction(() =>
      document.getElementById('problem').textContent);
    is('it is refused', (await text(closed, '#problem')).includes('token'));
    await closed.close();
  },

  async 'a trace is followed, until its recorder is killed'() {
    if (live === '-') throw new Error('SKIP this build has no server');
    const grows = await open(live);
    const last = await grows.tab.evaluate(() => studio.info.last);
    await grows.tab.waitForFunction((t) => studio.info.last > t &&
      studio.to > t, { timeout: 60000 }, last);
    process.kill(Number(recorder), 'SIGKILL');
    await grows.tab.waitForFunction(() => !studio.info.live &&
      document.getElementById('status').textContent.includes('ended'), {
      timeout: 60000 });
    await settle(grows.tab);
    is('what it did last is there', await grows.tab.evaluate(() =>
      studio.tracks.lines.length > 5));
    same('errors', grows.seen.errors.join(), '');
    await grows.tab.screenshot({ path: `${pictures}/killed.png` });
    await grows.tab.close();
  },
};

/* ---- Running ------------------------------------------------------------- */

const names = Object.keys(tests);
let failed = 0;
console.log(`1..${names.length}`);
for (const [i, name] of names.entries()) {
  try {
    await tests[name]();
    console.log(`ok ${i + 1} - ${name}`);
  } catch (error) {
    if (error.message.startsWith('SKIP')) {
      console.log(`ok ${i + 1} # ${error.message}`);
      continue;
    }
    failed++;
    console.log(`not ok ${i + 1} - ${name}\n#  ${error.message}`);
  }
}
const times = await tab.evaluate(() => {
  const say = (all) => {
    const sorted = [...all].sort((a, b) => a - b);
    return `${sorted[sorted.length >> 1].toFixed(1)} ms, at most ` +
      `${sorted.at(-1).toFixed(1)} ms of ${sorted.length}`;
  };
  return `questions ${say(studio.queryMs)}; paints ${say(studio.paintMs)}`;
});
console.log(`# ${times}`);
await browser.close();
process.exit(failed ? 1 : 0);
