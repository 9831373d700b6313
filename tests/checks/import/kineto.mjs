// What a JSON trace of the PyTorch profiler holds, by rules of its own, against
// what ts-view lists of the trace that ts-import made of it:
//     node kineto.mjs TRACE.json EVENTS.json      (ts-view --events --json)
// Every kernel, copy, call, zone, ... must be there with its time, duration,
// name and figures, and nothing else. Of event records and waits, whose times
// ts-import estimates, only their number counts.
import { readFileSync } from 'node:fs';

const [source, listed] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const trace = read(source);
const rows = Array.isArray(trace) ? trace : trace.traceEvents;

// Microseconds with up to three decimals are exact nanoseconds as long as
// the product stays below 2^53: older files hold whole microseconds.
const ns = (us) => Number.isInteger(us)
    ? BigInt(us) * 1000n : BigInt(Math.round(us * 1000));

const kinds = {
    kernel: 'kernel', gpu_memcpy: 'memcpy', gpu_memset: 'memset',
    cuda_runtime: 'api_call', cuda_driver: 'api_call',
};
const syncs = {
    'Stream Wait Event': 'event_wait', 'Event Sync': 'event_sync',
    'Stream Sync': 'stream_sync', 'Context Sync': 'device_sync',
};
const copies = { HtoD: 'h2d', DtoH: 'd2h', DtoD: 'd2d', HtoH: 'h2h' };

const wanted = new Map(); // line -> how often
const counted = new Map(); // kind -> how often, for estimated ones
const add = (map, key, n = 1) => map.set(key, (map.get(key) ?? 0) + n);
const starts = [];
const wants = []; // [kind, start, duration, label, figures]
const calls = new Set();
const records = new Set();

for (const row of rows) {
    const args = row.args ?? {};
    if (row.ph === 'M' || row.cat === 'ac2g') continue;
    const start = ns(row.ts);
    starts.push(start);
    if (row.ph === 'X') {
        let kind = kinds[row.cat] ?? 'zone';
        const duration = ns(row.dur);
        let label = row.name;
        let figures = '';
        if (kind === 'kernel') {
            if (/^nccl(Dev)?Kernel|multimem_all_reduce_kernel</.test(row.name))
                kind = 'collective';
            figures = `${args.grid.join('x')} ${args.block.join('x')} ` +
                `${args['registers per thread']} ${args['shared memory']}`;
            if (kind === 'collective') label = '';
        } else if (kind === 'memcpy') {
            const [, way, from, to] =
                /Memcpy (.to.) \((\w+) -> (\w+)\)/.exec(row.name);
            label = `memcpy ${copies[way]}`;
            figures = `${args.bytes} ${from} ${to}`.toLowerCase();
        } else if (kind === 'memset') {
            label = '';
            figures = `${args.bytes}`;
        } else if (kind === 'api_call') {
            calls.add(args.correlation);
            figures = `${args.correlation}`;
        } else if (row.cat === 'cuda_sync') {
            kind = syncs[args.cuda_sync_kind];
            const record = args.wait_on_cuda_event_record_corr_id ?? -1;
            if (record > 0) records.add(record);
            else if (kind === 'event_wait' && args.wait_on_stream >= 0)
                add(counted, 'event_record');
            if (kind === 'event_wait') {
                add(counted, kind);
                continue;
            }
            label = '';
        } else {
            for (const value of Object.values(args))
                if (value !== null) add(counted, 'zone_arg');
        }
        if (args.correlation && kind !== 'api_call')
            figures += ` #${args.correlation}`;
        wants.push([kind, start, duration, label, figures]);
    } else if (row.name === '[memory]') {
        const taken = args.Bytes >= 0;
        wants.push([taken ? 'alloc' : 'free', start, 0n, '', '']);
        add(counted, 'counter', 2);
    } else if (row.ph === 'i') {
        wants.push(['mark', start, 0n, row.name, '']);
    } else {
        throw new Error(`a row of phase ${row.ph}`);
    }
}
for (const record of records) if (calls.has(record)) add(counted, 'event_record');

const zero = starts.reduce((a, b) => (a < b ? a : b));
for (const [kind, start, duration, label, figures] of wants)
    add(wanted, `${kind} ${start - zero}+${duration} ${label} ${figures}`);

const found = new Map();
const foundCounts = new Map();
for (const event of read(listed).events) {
    const v = event.values;
    const kind = event.kind;
    if (['event_wait', 'event_record', 'zone_arg', 'counter'].includes(kind)) {
        add(foundCounts, kind);
        continue;
    }
    let label = event.label;
    let figures = '';
    if (kind === 'kernel' || kind === 'collective') {
        figures = `${v.grid} ${v.block} ${v.registers ?? 0} ` +
            `${v.dynamic_shared ?? 0}`;
        if (kind === 'collective') label = '';
    } else if (kind === 'memcpy') {
        figures = `${v.size} ${v.source_memory} ${v.memory}`;
    } else if (kind === 'memset') {
        label = '';
        figures = `${v.size}`;
    } else if (kind === 'api_call') {
        figures = `${v.correlation ?? 'undefined'}`;
    } else if (kind !== 'zone' && kind !== 'mark') {
        label = '';
    }
    if (v.correlation && kind !== 'api_call') figures += ` #${v.correlation}`;
    add(found, `${kind} ${event.start_ns}+${event.duration_ns ?? 0} ` +
        `${label} ${figures}`);
}

let differences = 0;
const compare = (a, b, what) => {
    for (const [key, n] of a)
        if (n > (b.get(key) ?? 0) && differences++ < 20)
            console.log(`${what}: ${n - (b.get(key) ?? 0)} x ${key}`);
};
compare(wanted, found, 'missing');
compare(found, wanted, 'not in the source');
compare(counted, foundCounts, 'too few');
compare(foundCounts, counted, 'too many');
const total = [...found.values(), ...foundCounts.values()]
    .reduce((a, b) => a + b, 0);
console.log(`${total} events compared, ${differences} differences`);
process.exit(differences || !total ? 1 : 0);
