// The WebAssembly module and the server answer the same questions about a trace
// with the same bytes; and what they count is what ts-query counts.
//   node compare.mjs MODULE.mjs WIRE.mjs STUDIO.wasm TS-STUDIO TRACE...
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { resolve } from 'node:path';

const [moduleFile, wireFile, wasm, studio, ...traces] = process.argv.slice(2);
const { Module, Bytes } = await import(resolve(moduleFile));
const wire = await import(resolve(wireFile));
const module = await Module.make(readFileSync(wasm));
const { Type, Writer } = wire;

// Starts the server, and returns how to ask it and how to end it.
async function serve(trace) {
  // The module cannot read names.
  const server = spawn(studio,
    ['--no-browser', '--no-report', '--mangled', trace]);
  const address = await new Promise((done, failed) => {
    let text = '';
    server.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) done(new URL(text.trim()));
    });
    server.on('exit', (code) => failed(new Error(`ts-studio ended: ${code}`)));
  });
  const token = address.hash.slice('#token='.length);
  address.hash = '';
  return {
    headers: { 'X-Studio-Token': token },
    get: (path, headers) => new Promise((done, failed) =>
      request(new URL(path, address), { headers }, async (answer) => {
        let text = '';
        for await (const part of answer) text += part;
        done({ status: answer.statusCode, text });
      }).on('error', failed).end()),
    async ask(question) {
      const answer = await fetch(new URL('ask', address), {
        method: 'POST', body: question, headers: { 'X-Studio-Token': token },
      });
      if (!answer.ok) throw new Error(await answer.text());
      return new Uint8Array(await answer.arrayBuffer());
    },
    end: () => server.kill(),
  };
}

// What the server refuses: who has not its token, who calls it by another name
// than its own, and what is not there.
async function refuses(trace) {
  const server = await serve(trace);
  const wanted = [
    [403, 'The address lacks its token: use the one that ts-studio printed.',
      'about', {}],
    [403, 'not from here', '', { Host: 'example.com' }],
    [404, 'no such thing', 'nosuch', server.headers],
  ];
  for (const [status, text, path, headers] of wanted) {
    const got = await server.get(path, headers);
    if (got.status !== status || got.text !== text) {
      console.log(`/${path}: ${got.status} ${got.text}`);
      process.exitCode = 1;
    }
  }
  server.end();
}

let asked = 0;
const digest = createHash('sha256');

async function both(server, trace, writer) {
  const question = writer instanceof Writer ? writer.done() : writer;
  const a = module.ask(question);
  const b = await server.ask(question);
  asked++;
  digest.update(a);
  if (Buffer.compare(a, b)) {
    console.log(`${trace}: question ${Buffer.from(question).toString('hex')}`);
    console.log(`  module ${a.length} bytes, server ${b.length} bytes`);
    process.exit(1);
  }
  return a;
}

function read(bytes, reader) {
  try {
    return reader(new wire.Answer(bytes));
  } catch (error) {
    if (error instanceof wire.Failure) return undefined;
    throw error;
  }
}

function view(from, to, pixels, rows) {
  const w = new Writer(Type.view).ns(from).ns(to).u32(pixels);
  w.u32(rows.length);
  for (const row of rows) w.u32(row);
  return w;
}

async function rowsOf(ask, info) {
  const rows = read(await ask(new Writer(Type.rows)), wire.readRows).rows;
  const ids = rows.map((r) => r.id).slice(0, 400);
  const span = Math.max(100, info.last - info.first);
  const refs = new Set();
  for (const [part, of] of [[0, 1], [0, 2], [3, 7], [40, 90], [99, 1000]]) {
    const from = info.first + Math.floor(span * part / of);
    const bytes = await ask(view(from, from + Math.ceil(span / of), 777, ids));
    const drawn = read(bytes, wire.readView);
    for (const row of drawn?.rows ?? [])
      for (const box of row.boxes.slice(0, 5)) refs.add(box.ref);
  }
  return { ids, refs: [...refs].slice(0, 120) };
}

const change = (w, type, num, den) => w.u32(type).u32(num).u32(den).u64(0n)
  .u32(0).u32(0);

async function compare(trace) {
  module.open(new Bytes(readFileSync(trace)));
  const server = await serve(trace);
  const ask = (w) => both(server, trace, w);
  try {
    const info = read(await ask(new Writer(Type.info)), wire.readInfo);
    await rowsOf(ask, info);
    await agrees(trace, ask, info);
    await ask(new Writer(Type.labels));
    await ask(new Writer(Type.counters));
    while (read(await ask(new Writer(Type.work)), (a) => (a.u8(), a.u8())));
    const idle = read(await ask(new Writer(Type.idle)), wire.readIdle);
    await ask(new Writer(Type.path));
    const { ids, refs } = await rowsOf(ask, info); // and what the graph added
    const gaps = (idle?.gaps ?? []).slice(0, 20).map((g) => g.ref);
    for (const ref of [...refs, ...gaps, wire.noRef]) {
      await ask(new Writer(Type.event).u64(ref));
      await ask(new Writer(Type.why).u64(ref));
      await ask(new Writer(Type.flows).u32(1).u64(ref).ns(0).ns(1).u32(1)
        .u32(0));
    }
    const middle = Math.floor((info.first + info.last) / 2);
    for (const id of ids.slice(0, 60))
      await ask(new Writer(Type.pick).u32(id).ns(middle).ns(1e9));
    await ask(new Writer(Type.search).text('E'));
    for (const backwards of [0, 1])
      await ask(new Writer(Type.next).ns(middle).u32(0).u32(backwards)
        .text('e'));
    const area = new Writer(Type.area).ns(info.first).ns(middle);
    area.u32(ids.length);
    for (const id of ids) area.u32(id);
    await ask(area);
    for (const by of [1, 2, 3]) {
      const flame = new Writer(Type.flame).ns(info.first).ns(middle).u32(by);
      flame.u32(ids.length);
      for (const id of ids) flame.u32(id);
      await ask(flame);
    }
    await ask(new Writer(Type.operations).u32(4).u32(0).u32(1).u32(7)
      .u32(0xffffffff));
    for (const label of [0, 1, 5, 1e6]) {
      const h = new Writer(Type.histogram).ns(info.first).ns(info.last + 1);
      h.u32(label).u32(ids.length);
      for (const id of ids) h.u32(id);
      await ask(h);
    }
    for (const of of [2, 3]) {
      const flows = new Writer(Type.flows).u32(of).u64(0n).ns(info.first);
      flows.ns(info.last + 1).u32(500).u32(of === 2 ? ids.length : 0);
      for (const id of of === 2 ? ids : []) flows.u32(id);
      await ask(flows);
    }
    await ask(change(new Writer(Type.whatif).u32(1), 1, 1, 2));
    await ask(change(new Writer(Type.whatif).u32(1), 9, 1, 3));
    await rowsOf(ask, info); // with ghosts
    await ask(new Writer(Type.whatif).u32(0));
    await ask(new Uint8Array([1, 2, 3]));
  } finally {
    server.end();
  }
}

/* ---- What ts-query counts ---- */

const kinds = { zone: 1, mark: 4, frame: 7, span: 11, api_call: 12,
  kernel: 16 }; // as in ts_event_kind
const tables = {
  zone: '(SELECT name FROM zone UNION ALL SELECT name FROM zone_open)',
  mark: 'mark', frame: 'frame', api_call: 'api_call', kernel: 'kernel',
  span: "(SELECT name FROM span WHERE phase = 'start')",
};

// By kind and name, how many there are.
function queried(trace) {
  const sql = Object.entries(tables).map(([kind, table]) =>
    `SELECT '${kind}' AS kind, name, count(*) AS n FROM ${table} GROUP BY name`)
    .join(' UNION ALL ');
  const query = spawnSync(studio.replace(/ts-studio$/, 'ts-query'),
    ['--json', '--no-symbols', trace, sql], { maxBuffer: 1 << 28 });
  return new Map(JSON.parse(query.stdout).results[0].rows.map((r) =>
    [`${kinds[r.kind]} ${r.name || r.kind}`, r.n]));
}

async function surveyed(ask, info) {
  const rows = read(await ask(new Writer(Type.rows)), wire.readRows).rows;
  for (;;) {
    const area = new Writer(Type.area).ns(info.first - 1).ns(info.last + 1);
    area.u32(rows.length);
    for (const row of rows) area.u32(row.id);
    const answer = read(await ask(area), wire.readArea);
    if (!answer.share.behind) return answer;
  }
}

function expect(trace, what, name, counted, wanted) {
  if (counted === wanted) return;
  console.log(`${trace}: ${what} '${name}': ${counted}, ts-query: ${wanted}`);
  process.exit(1);
}

const key = (label) => `${label.kind} ${label.text}`;
let named = 0;

// An area of everything, and searches, count as ts-query does.
async function agrees(trace, ask, info) {
  const wanted = queried(trace);
  const area = await surveyed(ask, info);
  const sums = new Map();
  for (const s of area.sums)
    if (Object.values(kinds).includes(s.kind))
      sums.set(key(s), (sums.get(key(s)) ?? 0) + s.count);
  if (area.names === area.sums.length)
    for (const name of new Set([...sums.keys(), ...wanted.keys()]))
      expect(trace, 'in the area', name, sums.get(name) ?? 0,
        wanted.get(name) ?? 0);
  for (const [name, n] of [...wanted].slice(0, 100)) {
    const text = name.slice(name.indexOf(' ') + 1);
    const found = read(await ask(new Writer(Type.search).text(text)),
      wire.readSearch);
    const of = found.sums.filter((s) => key(s) === name);
    if (found.found === found.sums.length)
      expect(trace, 'a search for', name,
        of.reduce((sum, s) => sum + s.count, 0), n);
    named++;
  }
}

await refuses(traces[0]);
for (const trace of traces) await compare(trace);
if (!named) throw new Error('no name was counted');
console.log(`${traces.length} traces, ${asked} questions, ${named} names, ` +
  `sha256 ${digest.digest('hex').slice(0, 16)}`);
