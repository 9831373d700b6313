// The WebAssembly module and the server answer the same questions about a trace
// with the same bytes.
//   node compare.mjs MODULE.mjs WIRE.mjs STUDIO.wasm TS-STUDIO TRACE...
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [moduleFile, wireFile, wasm, studio, ...traces] = process.argv.slice(2);
const { Module, Bytes } = await import(resolve(moduleFile));
const wire = await import(resolve(wireFile));
const module = await Module.make(readFileSync(wasm));
const { Type, Writer } = wire;

// Starts the server, and returns how to ask it and how to end it.
async function serve(trace) {
  const server = spawn(studio, ['--no-browser', '--no-report', trace]);
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
    await ask(new Writer(Type.labels));
    const idle = read(await ask(new Writer(Type.idle)), wire.readIdle);
    await ask(new Writer(Type.path));
    const { ids, refs } = await rowsOf(ask, info); // and what the graph added
    const gaps = (idle?.gaps ?? []).slice(0, 20).map((g) => g.ref);
    for (const ref of [...refs, ...gaps, wire.noRef]) {
      await ask(new Writer(Type.event).u64(ref));
      await ask(new Writer(Type.why).u64(ref));
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
    await ask(change(new Writer(Type.whatif).u32(1), 1, 1, 2));
    await ask(change(new Writer(Type.whatif).u32(1), 9, 1, 3));
    await rowsOf(ask, info); // with ghosts
    await ask(new Writer(Type.whatif).u32(0));
    await ask(new Uint8Array([1, 2, 3]));
  } finally {
    server.end();
  }
}

for (const trace of traces) await compare(trace);
console.log(`${traces.length} traces, ${asked} questions, ` +
  `sha256 ${digest.digest('hex').slice(0, 16)}`);
