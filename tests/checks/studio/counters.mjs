// Counters of the page have the figures of ts-query and ts-analyze.
//   node counters.mjs MODULE.mjs WIRE.mjs STUDIO.wasm TOOLS TRACE...
// TOOLS: the folder of the tools. Says how many figures were compared.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [moduleFile, wireFile, wasm, tools, ...traces] = process.argv.slice(2);
const { Module, Bytes } = await import(resolve(moduleFile));
const { Answer, RowType, Type, Writer, readIdle, readRows } =
  await import(resolve(wireFile));
const module = await Module.make(readFileSync(wasm));

const run = (tool, ...args) => execFileSync(`${tools}/${tool}`, args, {
  encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'],
});

const query = (trace, sql) =>
  JSON.parse(run('ts-query', '--json', trace, sql)).results[0].rows;

// The rows of derived counters, when all of them are made.
function counters(trace) {
  module.open(new Bytes(readFileSync(trace)));
  const ask = (type, read) =>
    read(new Answer(module.ask(new Writer(type).done())));
  ask(Type.rows, readRows);
  try {
    ask(Type.idle, readIdle); // loads the graph
  } catch { /* there is none */ }
  while (ask(Type.work, (a) => (a.u8(), a.u8())));
  return ask(Type.rows, readRows).rows.filter(
    (r) => r.type === RowType.counter && r.part);
}

let compared = 0;

function near(trace, what, got, wanted) {
  compared++;
  if (Math.abs(got - wanted) <= Math.abs(wanted) * 1e-6 + 0.5) return;
  console.log(`${trace}: ${what}: ${got}, not ${wanted}`);
  process.exitCode = 1;
}

const rates = `
  WITH c AS MATERIALIZED (
    SELECT device, copy, start_ns AS s, end_ns AS e,
      size * 1e9 / duration_ns AS rate
    FROM gpu_op WHERE kind = 'memcpy' AND size > 0 AND duration_ns > 0)
  SELECT a.device, a.copy, max((
    SELECT sum(b.rate) FROM c AS b WHERE b.device = a.device
      AND b.copy = a.copy AND b.s <= a.s AND b.e > a.s)) AS most
  FROM c AS a GROUP BY 1, 2`;

const words = { device_to_device: 'on device', peer_to_peer: 'device to device' };

function compareRates(trace, rows) {
  for (const { device, copy, most } of query(trace, rates)) {
    const name = `copy ${words[copy] ?? copy.replaceAll('_', ' ')} ` +
      `of GPU ${device}`;
    near(trace, name, rows.find((r) => r.name === name)?.high, most);
  }
}

// Rows of a table of ts-analyze; none if the topic does not apply.
function table(answers, topic, name) {
  return answers[topic]?.tables?.[name]?.rows ?? [];
}

// Where a device has one stream, its queue is that of the device.
function compareQueues(trace, rows, answers) {
  const queues = rows.filter((r) => r.unit === 'operations');
  for (const device of table(answers, 'launch', 'devices')) {
    const number = device.device.match(/GPU (\d+)/)?.[1];
    const own = queues.filter((r) => r.name.endsWith(` on GPU ${number}`));
    if (own.length === 1)
      near(trace, own[0].name, own[0].high, device.depth_max);
    for (const row of own) if (row.high > device.depth_max)
      near(trace, `${row.name}, at most`, row.high, device.depth_max);
  }
}

// One stream runs one kernel at a time.
function compareOccupancy(trace, rows, answers) {
  const own = rows.filter((r) => r.unit === '%');
  for (const row of own) if (row.high > 100 || row.low < 0)
    near(trace, row.name, row.high, 100);
  const known = table(answers, 'kernels', 'configurations')
    .map((r) => r.occupancy).filter((o) => typeof o === 'number');
  const streams = query(trace,
    "SELECT DISTINCT track FROM gpu_op WHERE kind = 'kernel'");
  if (own.length === 1 && streams.length === 1 && known.length)
    near(trace, own[0].name, own[0].high * 1e6, Math.max(...known) * 1e8);
}

function comparePools(trace, rows, answers) {
  const pools = rows.filter((r) => r.unit === 'bytes');
  const wanted = table(answers, 'memory', 'pools').filter((p) => p.allocations);
  near(trace, 'pools', pools.length, wanted.length);
  const sorted = (list) => list.sort((a, b) => a - b);
  const peaks = sorted(wanted.map((p) => p.peak_bytes));
  sorted(pools.map((r) => r.high)).forEach((high, i) =>
    near(trace, `pool ${i}`, high, peaks[i]));
}

for (const trace of traces) {
  const rows = counters(trace);
  const { answers } = JSON.parse(run('ts-analyze', '--json', '--rows', '100000',
    '--only', 'launch,kernels,memory', trace));
  compareRates(trace, rows);
  compareQueues(trace, rows, answers);
  compareOccupancy(trace, rows, answers);
  comparePools(trace, rows, answers);
}
console.log(`${traces.length} traces, ${compared} figures`);
if (!compared) process.exitCode = 1;
