// imported.mjs - does ts-import find in a Perfetto trace what Perfetto does?
//
//   node imported.mjs FOLDER TRACE IMPORTED EVENTS
//
// IMPORTED is what ts-import --json prints, EVENTS what ts-view --events --json
// prints of its output. Numbers of slices, samples, arrows and stages of GPUs
// are compared, and start, duration and name of each slice.

import fs from 'node:fs';
import { TraceProcessor } from './tp.mjs';

const [folder, trace, imported, listed] = process.argv.slice(2);
const read = (path) => JSON.parse(fs.readFileSync(path, 'utf8'));
const counts = read(imported).outputs[0].events;
const has = (...kinds) => kinds.reduce((n, k) => n + (counts[k] ?? 0), 0);

const tp = await TraceProcessor.start(folder);
tp.load(trace);
const one = (sql) => Number(tp.query(sql).rows[0][0]);
let differences = 0;
const compare = (what, theirs, ours) => {
    if (theirs === ours || differences++ > 10) return;
    console.log(`${trace}: ${what}: ${theirs} in Perfetto, ${ours} imported`);
};
const stages = one('select count(*) from gpu_slice');
compare('slices', one('select count(*) from slice') - stages,
    has('zone', 'zone_open', 'mark'));
compare('stages', stages, has('kernel', 'collective'));
compare('samples', one('select count(*) from counter'), has('counter'));

const slices = ['zone', 'zone_open', 'mark'];
const ours = read(listed).events.filter((e) => slices.includes(e.kind))
    .map((e) => [e.start_ns, e.kind === 'zone_open' ? -1 : e.duration_ns ?? 0,
        e.label]);
const zero = Math.min(...ours.map(([start]) => start));
const first = one('select min(ts) from slice');
const theirs = tp.query('select ts, dur, name from slice').rows
    .map(([ts, dur, name]) => [Number(ts) - first, Number(dur), name ?? '']);
const lines = (rows, from) => rows
    .map(([start, duration, name]) => `${start - from}+${duration} ${name}`)
    .sort();
const a = lines(theirs, 0), b = lines(ours, zero);
a.forEach((line, i) => compare('slice', line, b[i]));
console.log(`${trace}: ${a.length} slices compared, ${differences} differences`);
process.exit(differences ? 1 : 0);
