// The page in a real browser: opens, looks, searches, explains, simulates, by
// mouse and by keyboard; asks nobody; runs nothing that a trace says.
//   node browser.mjs PAGE HOSTILE-PAGE ADDRESS SENTENCE PICTURES LIVE RECORDER
//       JOB CAPTURING MANGLED
// ADDRESS: of a server; SENTENCE: of ts-analyze on why devices were idle. LIVE:
// of a server of the trace that process RECORDER is writing. JOB: of a server
// of a folder with two ranks. CAPTURING: of a recording whose captures wait.
// MANGLED: of a trace with names of C++.
// Prints TAP. SLOWER=6 slows the pages' processor, as on a loaded machine.
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [page, hostile, address, sentence, pictures, live, recorder, job,
  capturing, mangled] = process.argv.slice(2);
const served_trace = page.replace('page.html', 'real.sbt');
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
  tab.setDefaultTimeout(60000);
  await tab.emulateCPUThrottling(Number(process.env.SLOWER ?? 1));
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
  await tab.waitForSelector('[data-ready]');
  await settle(tab);
  return { tab, seen };
}

// Waits until the page shows what it was asked to.
async function settle(tab) {
  await tab.waitForFunction(() => globalThis.studio?.settled());
}

// The page may draw an element anew at any time: what is found is used within
// the same step of the page.

async function text(tab, selector) {
  const found = await tab.waitForFunction((s) =>
    document.querySelector(s)?.textContent, {}, selector);
  return found.jsonValue();
}

// Clicks the element, or the one with this text, once it is there.
async function click(tab, selector, label) {
  await tab.waitForFunction((s, l) => {
    const found = [...document.querySelectorAll(s)].find((e) =>
      l === undefined || e.textContent === l);
    found?.click();
    return !!found;
  }, {}, selector, label);
}

// Chooses an option, or writes into a field, once it is there.
async function set(tab, selector, value) {
  await tab.waitForFunction((s, v) => {
    const e = document.querySelector(s);
    if (!e) return false;
    e.value = v;
    e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input',
      { bubbles: true }));
    return true;
  }, {}, selector, value);
}

// Waits until the text of an element is of this kind.
async function says(tab, selector, pattern) {
  await tab.waitForFunction((s, p) => new RegExp(p, 's').test(
    document.querySelector(s)?.textContent ?? ''), {}, selector,
  pattern.source);
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

// Waits for what happens outside of the page.
async function until(ready) {
  for (let i = 0; !ready(); i++) {
    if (i > 600) throw new Error('it never came');
    await new Promise((again) => setTimeout(again, 50));
  }
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

  async 'counters of devices are made, and say what they count'() {
    await tab.waitForFunction(() => studio.tracks.all().some(
      (r) => r.type === 8 && r.part && r.count));
    await settle(tab);
    const facts = await tab.evaluate(async () => {
      const row = studio.tracks.all().find(
        (r) => r.type === 8 && r.part && r.count);
      const found = await studio.scene.pick(row.id, studio.to, 1e15);
      const event = await studio.scene.event(found.box.ref);
      return { name: row.name, unit: row.unit, ...Object.fromEntries(event) };
    });
    same('its name', facts.counter, facts.name);
    is('a value', /^[0-9]/.test(facts.value));
    is('what it is', facts.what.length > 10);
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
    await tab.waitForSelector('#tip:not([hidden])');
    await says(tab, '#tip', /kind/);
    await tab.mouse.move(5, 5);
  },

  async 'a search goes from match to match'() {
    await fresh(tab);
    await press(tab, '/');
    await tab.keyboard.type('launch');
    await says(tab, '#found', /^[1-9].* found$/);
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => studio.selected);
    await settle(tab);
    const first = await tab.evaluate(() => studio.selected.box.start);
    is('it matches', /launch/i.test(await selected(tab)));
    await tab.keyboard.press('Enter');
    await tab.waitForFunction((t) => studio.selected.box.start > t, {}, first);
    await settle(tab);
    await tab.screenshot({ path: `${pictures}/search.png` });
    await set(tab, '#query', '');
  },

  async 'an area has statistics'() {
    await fresh(tab);
    await tab.keyboard.down('Shift');
    await tab.mouse.move(400, 200);
    await tab.mouse.down();
    await tab.mouse.move(800, 500, { steps: 4 });
    await tab.mouse.up();
    await tab.keyboard.up('Shift');
    // The panel may still show what was selected before.
    await says(tab, '#panel h2', /selected$/);
    await tab.waitForSelector('#panel tbody tr');
    await press(tab, 'Escape', 'Escape');
  },

  async 'an area has a flame graph, and a name has durations'() {
    await fresh(tab);
    await press(tab, 'v');
    await tab.waitForSelector('#area-by');
    await click(tab, '#panel button[aria-label^="Durations of"]');
    await says(tab, '#durations', /half are within .*99 % within/);
    same('each box is in a bin', ...await tab.evaluate(() => [
      [...document.getElementById('durations').parentElement.querySelectorAll(
        'tbody td:nth-child(2)')].reduce((n, c) =>
        n + Number(c.textContent.replaceAll(',', '')), 0)
        .toLocaleString('en-US'),
      document.getElementById('durations').textContent.split(' ')[0]]));
    await set(tab, '#area-by', 'zone');
    await tab.waitForSelector('#flame');
    await set(tab, '#area-by', 'track');
    const clicked = await tab.waitForFunction(() => {
      const button = document.querySelector('#panel tbody button');
      const name = button?.textContent;
      if (!studio.tracks.all().some((r) => r.name === name)) return '';
      button.click();
      return name;
    });
    await tab.waitForFunction((n) => document.getElementById('flame')
      ?.textContent.startsWith(`${n}: `), {}, await clicked.jsonValue());
    await tab.screenshot({ path: `${pictures}/flame.png` });
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
    await says(tab, '#panel ol.reasons li', /was idle for/);
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

  async 'arrows lead to what was waited for'() {
    await fresh(tab);
    const kernel = await tab.evaluate(async () => {
      const { first, last } = studio.info, step = (last - first) / 300;
      for (const row of studio.tracks.all().filter((r) => r.type === 6))
        for (let at = first; row.count && at < last; at += step) {
          const f = await studio.scene.pick(row.id, at, step);
          const flows = f && await studio.scene.flowsOf(f.box.ref);
          if (!flows?.flows.some((a) => a.edge === 'launch')) continue;
          studio.reveal(f.box.start, f.box.end, f.row);
          studio.select(f.row, f.box, f.label);
          return f.label.text;
        }
    });
    is('a kernel was launched', kernel);
    await tab.waitForFunction(() => [...document.querySelectorAll(
      '#panel caption')].some((c) => c.textContent === 'It waited for'));
    await settle(tab);
    // The table is the twin of the arrows: its link goes to the launch.
    await tab.evaluate(() => [...document.querySelectorAll('#panel table')]
      .find((t) => t.caption.textContent === 'It waited for')
      .querySelectorAll('tbody tr').forEach((r) => {
        if (r.textContent.includes('launched by'))
          r.querySelector('button').click();
      }));
    await tab.waitForFunction(() =>
      studio.tracks.row(studio.selected.row).type === 3);
    await settle(tab);
    const drawn = () => tab.evaluate(() => {
      const c = document.getElementById('tracks');
      const copy = new OffscreenCanvas(c.width, c.height)
        .getContext('2d', { willReadFrequently: true });
      copy.drawImage(c, 0, 0);
      const d = copy.getImageData(220, 34, c.width - 220, c.height - 34).data;
      let n = 0;
      for (let i = 0; i < d.length; i += 4)
        n += d[i] === 0xb3 && d[i + 1] === 0x40 && d[i + 2] === 0x0a;
      return n;
    });
    is('its arrow is drawn', await drawn() > 20);
    await press(tab, 'Escape', 'Escape');
    await settle(tab);
    same('none without a selection', await drawn(), 0);
    await press(tab, 'o');
    await tab.screenshot({ path: `${pictures}/arrows.png` });
    // What a view loads has arrows: they are asked for after it.
    await tab.evaluate(() => {
      globalThis.asked = [];
      for (const what of ['view', 'flowsIn']) {
        const ask = studio.scene[what];
        studio.scene[what] = function (...all) {
          asked.push(what);
          return ask.apply(this, all);
        };
      }
    });
    await press(tab, '+');
    await tab.waitForFunction(() => asked.at(-1) === 'flowsIn');
    await tab.evaluate(() => {
      delete studio.scene.view;
      delete studio.scene.flowsIn;
    });
    await press(tab, 'o');
  },

  async 'tracks are hidden, pinned, sorted and filtered'() {
    await fresh(tab);
    const first = () => tab.evaluate(() => studio.tracks.lines[0].title);
    const groups = () => tab.evaluate(() =>
      new Set(studio.tracks.lines.map((l) => l.group)).size);
    const all = await groups();
    const name = await first();
    await press(tab, 'ArrowRight', 'h');
    same('one is hidden', await groups(), all - 1);
    await press(tab, 'k');
    await tab.waitForSelector('#track-filter');
    await click(tab, `#panel input[aria-label="show ${name}"]`);
    await settle(tab);
    same('it is back', await groups(), all);
    const last = await text(tab, '#panel tbody tr:last-child button');
    await click(tab, '#panel tbody tr:last-child input[aria-label^="pin"]');
    await settle(tab);
    same('the pinned one is first', await first(), last);
    await click(tab, '#panel tbody tr:last-child input[aria-label^="pin"]');
    await set(tab, '#panel select', 'name');
    await settle(tab);
    const titles = await tab.evaluate(() =>
      studio.tracks.lines.filter((l) => l.first).map((l) => l.title));
    same('they are sorted', titles.join(), [...titles].sort((a, b) =>
      a < b ? -1 : 1).join());
    await set(tab, '#panel select', 'kind');
    await tab.focus('#track-filter');
    await tab.keyboard.type('stream');
    await settle(tab);
    is('only streams', await tab.evaluate(() => studio.tracks.lines.every((l) =>
      !l.first || l.title.includes('stream'))));
    await tab.screenshot({ path: `${pictures}/tracks.png` });
    await tab.evaluate(() => {
      studio.tracks.filter = '';
      studio.tracks.pinned.clear();
      studio.tracks.lay();
    });
    await press(tab, 'Escape', 'Escape');
  },

  async 'notes are kept, and are in the link'() {
    await fresh(tab);
    await press(tab, '+', '+', 'b');
    await tab.waitForSelector('#note:focus');
    await tab.keyboard.type('<b>look</b> here');
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => document.getElementById('panel')
      .textContent.includes('1. <b>look</b> here'));
    await tab.waitForFunction(() => location.hash.includes('look'));
    const again = await open(tab.url());
    try {
      await again.tab.waitForFunction(() => studio.notes.list.length === 1);
      await again.tab.waitForFunction(() => document.getElementById('panel')
        .textContent.includes('<b>look</b>')); // the panel is in the link, too
    } finally {
      await again.tab.close();
      await tab.bringToFront();
    }
    await click(tab, '#panel button[aria-label^="Remove"]');
    await tab.waitForFunction(() => !studio.notes.list.length);
    await press(tab, 'Escape', 'Escape');
  },

  async 'a what-if has a makespan and a ghost'() {
    await fresh(tab);
    await press(tab, 'x');
    await tab.waitForSelector('#panel form');
    await tab.$eval('#panel form input', (e) => e.focus());
    await tab.keyboard.type('.');
    await tab.keyboard.press('Enter');
    await says(tab, '#makespan', /less\.$/);
    await settle(tab);
    is('a ghost is shown', await tab.evaluate(() =>
      studio.tracks.lines.some((l) => l.row.type === 7)));
    await tab.screenshot({ path: `${pictures}/whatif.png` });
  },

  async 'everything is there as tables'() {
    await fresh(tab);
    await press(tab, 't');
    await tab.waitForSelector('#panel table');
    await tab.waitForFunction(() =>
      document.querySelectorAll('#panel tbody tr').length > 10);
    await press(tab, 'Escape');
  },

  async 'the keyboard alone goes from box to box'() {
    await fresh(tab);
    await press(tab, 'ArrowRight');
    const first = await tab.evaluate(() => studio.selected?.box.start);
    is('something is selected', first !== undefined);
    await press(tab, 'ArrowDown', 'ArrowDown', 'ArrowRight', 'f', 'e');
    await tab.waitForSelector('#panel h2');
    await says(tab, '#status', /, on /);
    await press(tab, 'Escape', '?');
    await says(tab, '#panel', /search names/);
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
    const drawn = await evil.tab.evaluate(() => {
      const svg = new DOMParser().parseFromString(
        studio.painter.svg(studio.picture()), 'image/svg+xml');
      return [...new Set([...svg.querySelectorAll('*')].map((e) =>
        e.tagName))].filter((t) => !['svg', 'rect', 'text', 'path', 'g',
        'clipPath'].includes(t)).join();
    });
    same('elements of its picture', drawn, '');
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
    await press(served.tab, 'Escape', 'b');
    await served.tab.waitForSelector('#note:focus');
    await served.tab.keyboard.type('kept beside it');
    await served.tab.keyboard.press('Enter');
    await served.tab.waitForFunction(() => studio.notes.list.length === 1);
    const file = `${served_trace}.notes.json`;
    await until(() => existsSync(file));
    is('only its owner reads the notes',
      (statSync(file).mode & 0o777) === 0o600);
    is('they are in a file', readFileSync(file, 'utf8')
      .includes('kept beside it'));
    await served.tab.close();
    const back = await open(address);
    await back.tab.waitForFunction(() =>
      studio.notes.list[0]?.text === 'kept beside it');
    await back.tab.close();
    const wrong = address.replace(/token=../, 'token=zz');
    const closed = await browser.newPage();
    await closed.goto(wrong);
    await says(closed, '#problem', /token/);
    await closed.close();
  },

  async 'a second trace lies below, step by step, with what changed'() {
    if (address === '-') throw new Error('SKIP this build has no server');
    const { tab: two, seen } = await open(address);
    is('rows of both', await two.evaluate(() => studio.tracks.lines.some((l) =>
      l.title.startsWith('B: stream'))));
    await press(two, 'c');
    await says(two, '#aligned', /The first [1-9]/);
    await click(two, '#panel button', 'Compare with ts-diff');
    await two.waitForFunction(() => [...document.querySelectorAll('#panel h3')]
      .some((h) => h.textContent === 'Kernels'));
    await settle(two);
    is('only names of boxes are marked', await two.evaluate(() =>
      !['makespan', 'launch_latency', '(total)'].some((n) =>
        studio.changes.has(n))));
    // Rows of a trace that is not loaded as a whole have no counts.
    is('rows without counts', await two.evaluate(async () => {
      const made = studio.tracks.layers.get(2), { scene } = made;
      const rows = await scene.rows();
      scene.rows = () => Promise.resolve({ ...rows, whole: false,
        rows: rows.rows.map((r) => ({ ...r, count: 0 })) });
      made.version = -1; // it has changed
      await made.view(studio.from, studio.to, 100, [made.rows[0].id]);
      delete scene.rows;
      return studio.tracks.lines.some((l) => l.title.startsWith('B: '));
    }));
    await two.screenshot({ path: `${pictures}/compare.png` });
    // A box of B is where the one of A is, but for the step's own times.
    const b = await two.evaluate(() => {
      const line = studio.tracks.lines.find((l) =>
        l.title.startsWith('B: stream'));
      const box = studio.painter.viewOf(line.row.id).boxes[0];
      if (box) studio.select(line.row.id, box, studio.labelOf(box));
      return !!box;
    });
    if (b) await says(two, '#panel', /kind/);
    same('errors', seen.errors.join(), '');
    await two.close();
  },

  async 'a second file is compared in the page'() {
    await fresh(tab);
    await press(tab, 'c');
    const input = await tab.waitForSelector('#second');
    await input.uploadFile(served_trace.replace('real.sbt', 'second.sbt'));
    await tab.waitForSelector('#aligned');
    await settle(tab);
    is('rows of both', await tab.evaluate(() => studio.tracks.lines.some((l) =>
      l.title.startsWith('B: stream'))));
    await tab.evaluate(() => studio.setLayer(2, undefined));
    await press(tab, 'Escape', 'Escape');
  },

  async 'a query is a table and a track'() {
    if (address === '-') throw new Error('SKIP this build has no server');
    const { tab: sql, seen } = await open(address);
    await press(sql, 'q');
    await set(sql, '#sql',
      'SELECT name, start_ns AS ts, duration_ns AS dur FROM gpu_op');
    await sql.focus('#sql');
    await sql.keyboard.down('Control');
    await sql.keyboard.press('Enter');
    await sql.keyboard.up('Control');
    await sql.waitForSelector('#panel tbody tr');
    const rows = await text(sql, '#panel caption');
    await click(sql, '#panel button', 'Show as a track');
    await settle(sql);
    same('each row is a box', await sql.evaluate(() =>
      `${studio.tracks.lines.filter((l) => l.group === 'l1').reduce((n, l) =>
        n + l.row.count, 0).toLocaleString('en-US')} rows`), rows
      .split(',  ')[0].replace(/; the first.*/, '').replace(/, and.*/, ''));
    await sql.waitForFunction(() => studio.painter.viewOf(1 << 20)?.busy
      .some((b) => b));
    await sql.screenshot({ path: `${pictures}/query.png` });
    const ask = async (query) => {
      await set(sql, '#sql', query);
      await click(sql, '#panel button', 'Run');
    };
    await ask('SELECT 9007199254740993 AS n, 0.12345678901234567 AS f ' +
      'FROM gpu_op a, gpu_op b');
    await says(sql, '#panel tbody', /9007199254740993/);
    is('what a file lacks is said', (await sql.$$eval('#panel button', (all) =>
      all.map((b) => b.textContent))).includes('CSV of the first 10,000 rows'));
    await ask('SELECT nothing');
    await says(sql, '#panel [role=alert]', /nothing/); // it says where
    await press(sql, 'Escape');
    await sql.evaluate(() => document.getElementById('tracks').focus());
    await press(sql, 'y');
    await click(sql, '#panel button', 'Verify');
    await says(sql, '#checked', /match/);
    // Tasks of a page wait for each other.
    await sql.evaluate(() => {
      const { engine } = studio.scene, post = engine.post.bind(engine);
      let now = 0;
      globalThis.answers = [];
      engine.post = async (path, body) => {
        if (path !== 'task') return post(path, body);
        const before = now++;
        return post(path, body).finally(() => {
          now--;
          answers.push(before);
        });
      };
    });
    await press(sql, 'Escape', 'q');
    await ask('SELECT count(*) FROM gpu_op');
    await press(sql, 'Escape', 'y');
    await click(sql, '#panel button', 'Verify');
    await sql.waitForFunction(() => answers.length === 2);
    same('others at the time', await sql.evaluate(() => answers.join()), '0,0');
    // A panel cancels its own task only, be it one that waits.
    const endless = 'WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL ' +
      'SELECT x + 1 FROM a) SELECT count(*) FROM a';
    await press(sql, 'Escape', 'q');
    await ask(endless);
    await press(sql, 'Escape', 'y');
    await click(sql, '#panel button', 'Verify');
    await click(sql, '#panel button', 'Cancel');
    await says(sql, '#checked', /cancelled/);
    await press(sql, 'Escape', 'q');
    await click(sql, '#panel button', 'Cancel');
    await says(sql, '#panel [role=alert]', /cancelled/);
    // One of another page is waited for, a while.
    await sql.evaluate((query) => {
      void studio.scene.engine.post('task', `sql\n${query}`).catch(() => 0);
    }, endless);
    await press(sql, 'Escape', 'y');
    await click(sql, '#panel button', 'Verify');
    await until(() => seen.errors.some((e) => e.includes('409')));
    await sql.evaluate(() => studio.scene.engine.post('cancel', ''));
    await says(sql, '#checked', /match/);
    // A part begins where the window does, on the clock of the trace.
    await press(sql, 'Escape', '+', '+', '+', 'g');
    const part = sql.waitForRequest((r) => r.url().endsWith('/task'));
    await click(sql, '#panel button', 'SBT');
    same('the part', (await part).postData(), await sql.evaluate(() =>
      `cut ${Math.round(studio.from)} ${Math.round(studio.to)}`));
    await says(sql, '#exported', / bytes$/);
    // Who leaves ends its task: another page may begin one.
    await press(sql, 'q');
    const begun = sql.waitForRequest((r) => r.url().endsWith('/task'));
    await ask(endless);
    await begun;
    await new Promise((then) => setTimeout(then, 300)); // the server has it
    await sql.reload();
    await sql.waitForSelector('[data-ready]');
    await press(sql, 'c');
    await says(sql, '#aligned', /The first [1-9]/);
    same('texts of a trace are made visible', await sql.evaluate(() => {
      studio.say('a\u202eb');
      return document.getElementById('status').textContent;
    }), 'a\\u202eb');
    // 409: another task runs; 422: a query fails. The browser logs both.
    same('errors', seen.errors.filter((e) => !/409|422/.test(e)).join(), '');
    await sql.close();
  },

  async 'a view is exported as a picture'() {
    await fresh(tab);
    await press(tab, 'g');
    const kinds = await tab.evaluate(() => {
      const text = studio.painter.svg(studio.picture());
      const svg = new DOMParser().parseFromString(text, 'image/svg+xml');
      return [...new Set([...svg.querySelectorAll('*')].map((e) =>
        e.tagName))].sort().join();
    });
    same('elements', kinds, 'rect,svg,text');
    same('the buttons', await tab.$$eval('#panel button', (all) => all.map((b) =>
      b.textContent).filter((t) => /^(SVG|PNG|SBT)$/.test(t)).join()),
    'SVG,PNG');
    await press(tab, 'Escape');
  },

  async 'a page of a web host reads a trace of it by ranges'() {
    let bytes = 0, ranges = true;
    const trace = readFileSync(served_trace);
    const host = createServer((request, answer) => {
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
      if (request.url.startsWith('/index.html'))
        answer.end(readFileSync(page.replace('page.html', 'hosted.html')));
      else if (!request.url.startsWith('/run.sbt'))
        answer.writeHead(404).end();
      else if (!range || !ranges)
        answer.writeHead(200).end(trace);
      else {
        const part = trace.subarray(Number(range[1]), Number(range[2]) + 1);
        bytes += part.length;
        answer.writeHead(206, { 'Content-Range':
          `bytes ${range[1]}-${range[2]}/${trace.length}` }).end(part);
      }
    });
    await new Promise((ready) => host.listen(0, '127.0.0.1', ready));
    const at = `http://127.0.0.1:${host.address().port}/index.html?url=`;
    try {
      const hosted = await open(`${at}run.sbt`);
      is('rows are shown', await hosted.tab.evaluate(() =>
        studio.tracks.lines.length > 3));
      is('ranges were read', bytes > 0);
      same('errors', hosted.seen.errors.join(), '');
      await hosted.tab.close();
      const problem = async (url, what) => {
        const failing = await browser.newPage();
        await failing.goto(at + url);
        await failing.waitForFunction(() =>
          document.getElementById('problem').textContent);
        is(what, (await text(failing, '#problem')).includes(what));
        await failing.close();
      };
      await problem('missing.sbt', 'the host answers 404');
      await problem('http://192.0.2.1/x.sbt', 'it cannot be read from here');
      ranges = false;
      await problem('run.sbt', 'the host sends no ranges of files');
    } finally {
      host.closeAllConnections();
      host.close();
      await tab.bringToFront();
    }
  },

  async 'a folder of ranks is one trace, and tracks name their rank'() {
    if (address === '-') throw new Error('SKIP this build has no server');
    const ranks = await open(job);
    const titles = await ranks.tab.evaluate(() =>
      studio.tracks.lines.map((l) => l.title).join('\n'));
    for (const rank of [0, 1])
      is(`streams of rank ${rank}`,
        titles.includes(`rank ${rank}: stream 7 on GPU ${rank}`));
    await press(ranks.tab, 'k');
    await set(ranks.tab, '#track-filter', 'rank 1:');
    await settle(ranks.tab);
    is('one rank is left', await ranks.tab.evaluate(() =>
      studio.tracks.lines.every((l) => !l.first ||
        l.title.includes('rank 1:'))));
    same('errors', ranks.seen.errors.join(), '');
    await ranks.tab.close();
  },

  async 'a capture is begun and ended by buttons, while there is a recording'() {
    if (address === '-') throw new Error('SKIP this build has no server');
    const { tab: page_, seen } = await open(capturing);
    const is_ready = (n) => page_.waitForFunction((at) =>
      [...document.querySelectorAll('#capture button')].map((b) =>
        Number(b.disabled)).join('') === (at ? '10' : '01'), {}, n);
    await is_ready(0);
    await says(page_, '#capture output', /^0 captured$/);
    await click(page_, '#capture button', 'Start capture');
    await says(page_, '#capture output', /, capturing$/);
    await is_ready(1);
    await page_.screenshot({ path: `${pictures}/capture.png` });
    await click(page_, '#capture button', 'Stop capture');
    await says(page_, '#capture output', /^0 captured$/);
    await is_ready(0);
    let fails = true;
    await page_.setRequestInterception(true);
    page_.on('request', (r) => void (fails && r.url().endsWith('/capture')
      ? r.abort() : r.continue()));
    await says(page_, '#capture output', /^the server does not answer$/);
    fails = false;
    await is_ready(0);
    same('errors', seen.errors.filter((e) =>
      !e.includes('net::ERR_FAILED')).join(), '');
    await page_.close();
    await tab.bringToFront();
    is('no buttons without a recording', await tab.evaluate(() =>
      document.getElementById('capture').hidden));
  },

  async 'names of C++ are read in a page and on a server'() {
    const both = [pathToFileURL(page.replace('page.html', 'names.html')).href];
    if (address !== '-') both.push(mangled);
    for (const url of both) {
      const { tab: names, seen } = await open(url);
      await press(names, '/');
      await names.keyboard.type('_Z6mat');
      await says(names, '#found', /^[1-9].* found$/);
      await names.keyboard.press('Enter');
      await names.waitForFunction(() => studio.selected);
      await settle(names);
      same('its label', await selected(names), 'matmul(float*)');
      await says(names, '#panel', /symbol.*_Z6matmulPf/);
      await press(names, 'Escape', 'Escape', 'v');
      await says(names, '#panel', /matmul\(float\*\)/);
      same('errors', seen.errors.join(), '');
      await names.close();
    }
    await tab.bringToFront();
  },

  async 'a trace is followed, until its recorder is killed'() {
    if (live === '-') throw new Error('SKIP this build has no server');
    const grows = await open(live);
    const last = await grows.tab.evaluate(() => studio.info.last);
    await grows.tab.waitForFunction((t) => studio.info.last > t &&
      studio.to > t, {}, last);
    process.kill(Number(recorder), 'SIGKILL');
    await grows.tab.waitForFunction(() => !studio.info.live &&
      document.getElementById('status').textContent.includes('ended'));
    await settle(grows.tab);
    is('what it did last is there', await grows.tab.evaluate(() =>
      studio.tracks.lines.length > 5));
    same('errors', grows.seen.errors.join(), '');
    await grows.tab.screenshot({ path: `${pictures}/killed.png` });
    await grows.tab.close();
  },
};

/* ---- Running ------------------------------------------------------------- */

// A test that failed leaves neither pages nor a panel to the next one.
async function tidy() {
  for (const other of await browser.pages())
    if (other !== tab) await other.close();
  await tab.bringToFront(); // only then does it paint
  await tab.focus('#tracks');
  await press(tab, 'Escape', 'Escape', 'Escape');
}

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
    await tidy();
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
