// Whether `ts-analyze --json` says of the idle time, the critical path and the
// overlap what follows from the source, the JSON of the PyTorch profiler:
//     node overlap.mjs TRACE.json ANSWERS.json
// Hidden is what of a copy or collective lies under kernels of its device.
import { readFileSync } from 'node:fs';

const read = (name) => JSON.parse(readFileSync(name, 'utf8'));
const trace = read(process.argv[2]), { answers } = read(process.argv[3]);
const rows = Array.isArray(trace) ? trace : trace.traceEvents;
const exact = (us) => Number.isInteger(us)
    ? BigInt(us) * 1000n : BigInt(Math.round(us * 1000));
const first = rows.filter((r) => r.ph === 'X').map((r) => exact(r.ts))
    .reduce((a, b) => (a < b ? a : b));

const kernels = new Map(), transfers = [];
for (const row of rows) {
    const kind = (row.cat ?? '').toLowerCase();
    if (row.ph !== 'X' || !['kernel', 'gpu_memcpy', 'gpu_memset'].includes(kind))
        continue;
    const start = Number(exact(row.ts) - first);
    const end = start + Number(exact(row.dur)), { device } = row.args;
    const talk = kind === 'kernel' &&
        /^nccl(Dev)?Kernel|multimem_all_reduce_kernel</.test(row.name);
    if (!kernels.has(device)) kernels.set(device, []);
    if (kind === 'kernel' && !talk) kernels.get(device).push({ start, end });
    else transfers.push({ start, end, device, talk });
}
for (const list of kernels.values()) list.sort((a, b) => a.start - b.start);

const want = { collective: 0, collective_exposed: 0, copy: 0, copy_exposed: 0 };
for (const { start, end, device, talk } of transfers) {
    let hidden = 0, until = start;
    for (const k of kernels.get(device)) {
        if (k.start >= end) break;
        const from = Math.max(k.start, until), to = Math.min(k.end, end);
        if (to <= from) continue;
        hidden += to - from;
        until = to;
    }
    const name = talk ? 'collective' : 'copy';
    want[name] += end - start;
    want[`${name}_exposed`] += end - start - hidden;
}

const same = (what, a, b) => {
    if (a !== b) throw new Error(`${what}: ${a}, and ${b} in the source`);
};
const sum = (list, key) => list.reduce((s, r) => s + r[key], 0);
const { overlap, idle, path } = answers;
for (const [name, ns] of Object.entries(want))
    same(name, overlap.figures?.[`${name}_ns`] ?? 0, ns);
const all = idle.figures.idle_ns;
for (const table of ['causes', 'devices', 'gaps', 'ended_by', 'lengths'])
    same(`idle by ${table}`, sum(idle.tables[table].rows, 'idle_ns'), all);
for (const table of ['costs', 'names', 'zones', 'parts'])
    if (path.tables[table])
        same(`path by ${table}`, sum(path.tables[table].rows,
            table === 'parts' ? 'duration_ns' : 'path_ns'),
        path.figures.makespan_ns);
