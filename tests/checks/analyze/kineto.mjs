// The sums that answers.mjs prints, from the JSON of the PyTorch profiler by
// rules of its own:
//     node kineto.mjs TRACE.json
import { readFileSync } from 'node:fs';

const trace = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const rows = Array.isArray(trace) ? trace : trace.traceEvents;
// Whole microseconds, as older files hold, are exact nanoseconds as integers;
// those with three decimals are below 2^53. From the first, all are small.
const exact = (us) => Number.isInteger(us)
    ? BigInt(us) * 1000n : BigInt(Math.round(us * 1000));
const first = rows.filter((r) => r.ph === 'X').map((r) => exact(r.ts))
    .reduce((a, b) => (a < b ? a : b));
const at = (row) => Number(exact(row.ts) - first);
const copies = { HtoD: 'host to device', DtoH: 'device to host',
    DtoD: 'device to device', HtoH: 'host to host' };

const devices = new Map();
const kernels = new Map();
const copied = new Map();
const add = (map, key, duration, bytes) => {
    const s = map.get(key) ?? { count: 0, total: 0, min: Infinity, max: 0,
        bytes: 0 };
    s.count++;
    s.total += duration;
    s.min = Math.min(s.min, duration);
    s.max = Math.max(s.max, duration);
    s.bytes += bytes;
    map.set(key, s);
};
for (const row of rows) {
    const kind = (row.cat ?? '').toLowerCase();
    if (row.ph !== 'X' || !['kernel', 'gpu_memcpy', 'gpu_memset'].includes(kind))
        continue;
    const { device, bytes } = row.args;
    const start = at(row), duration = Number(exact(row.dur));
    const talk = kind === 'kernel' &&
        /^nccl(Dev)?Kernel|multimem_all_reduce_kernel</.test(row.name);
    if (!devices.has(device)) devices.set(device, []);
    devices.get(device).push({ start, end: start + duration, talk,
        kernel: kind === 'kernel' && !talk });
    if (kind === 'kernel') add(kernels, row.name, duration, 0);
    else if (kind === 'gpu_memset') add(copied, 'memset', duration, bytes);
    else add(copied, copies[/Memcpy (.to.)/.exec(row.name)[1]], duration, bytes);
}

// How long any of the spans lasts.
const union = (spans) => {
    let sum = 0, until = -Infinity;
    for (const { start, end } of spans.sort((a, b) => a.start - b.start)) {
        if (end <= until) continue;
        sum += end - Math.max(start, until);
        until = end;
    }
    return sum;
};
const lines = [];
for (const [number, work] of devices) {
    const busy = union([...work]);
    const from = Math.min(...work.map((w) => w.start));
    const to = Math.max(...work.map((w) => w.end));
    const run = union(work.filter((w) => w.kernel));
    const exposed = union(work.filter((w) => w.kernel || w.talk)) - run;
    lines.push(`device ${number} work ${work.length} busy ${busy} ` +
        `idle ${to - from - busy} exposed ${exposed} kernels ${run}`);
}
for (const [name, s] of kernels)
    lines.push(`kernel ${s.count} ${s.total} ${s.min} ${s.max} ${name}`);
for (const [name, s] of copied)
    lines.push(`copy ${s.count} ${s.bytes} ${s.total} ${name}`);
console.log(lines.sort().join('\n'));
