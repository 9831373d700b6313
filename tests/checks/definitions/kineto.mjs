// The figures that HTA and TraceLens define, from the JSON of the PyTorch
// profiler, against ts-analyze and the queries of docs/definitions.md:
//     node kineto.mjs TRACE.json ANSWERS.json TRACE.sbt
import { by, done, json, query, same, sameRows, sameTable, sameWindow,
    statistics, sum, union, window } from './figures.mjs';

const [source, answersName, trace] = process.argv.slice(2);
const rows = json(source).traceEvents.filter((r) => r.ph === 'X');
const { answers } = json(answersName);

// Whole microseconds of older files are exact as integers, those with three
// decimals below 2^53. From the first, all are small.
const exact = (us) => Number.isInteger(us)
    ? BigInt(us) * 1000n : BigInt(Math.round(us * 1000));
const first = rows.map((r) => exact(r.ts)).reduce((a, b) => (a < b ? a : b));
for (const row of rows) {
    row.start = Number(exact(row.ts) - first);
    row.end = row.start + Number(exact(row.dur));
    row.kind = (row.cat ?? '').toLowerCase();
}
const work = rows.filter((r) =>
    ['kernel', 'gpu_memcpy', 'gpu_memset'].includes(r.kind));
const device = work[0].args.device;
if (work.some((w) => w.args.device !== device)) throw new Error('devices');
const calls = new Map(rows
    .filter((r) => r.kind === 'cuda_runtime' || r.kind === 'cuda_driver')
    .map((r) => [r.args.correlation, r]));
const callOf = (w) => calls.get(w.args.correlation);

// What each of the two takes for communication; kernels of NCCL in these, and
// those that only we know as collectives: docs/definitions.md.
const isOurTalk = (w) => /multimem_all_reduce_kernel</.test(w.name);
const isHtaTalk = (w) =>
    /^nccl|^hip|^hccl|ncclKernel/.test(w.name) || isOurTalk(w);
const isHtaMemory = (w) => /^(hip)?Memcpy|^(hip)?Memset|^dma/.test(w.name);
const isLensTalk = (w) => /nccl/i.test(w.name) || isOurTalk(w);
const ns = (list) => list.map((w) => w.end - w.start);

const [summary] = answers.summary.tables.devices.rows;
const [overlap] = answers.overlap.tables.devices.rows;
const talk = work.filter(isHtaTalk);
const compute = work.filter((w) => !isHtaTalk(w) && !isHtaMemory(w));
const busy = union(work);
sameWindow(trace, work, 0);

// HTA, without its choice of steps and its rounding, as ts-analyze has it.
same('kernel time', summary.span_ns, window(work));
same('idle time', summary.idle_ns, window(work) - busy);
same('compute time', summary.kernel_ns, union(compute));
same('non-compute time', summary.busy_ns - summary.kernel_ns,
    busy - union(compute));
const both = union(talk) + union(compute) - union([...talk, ...compute]);
same('communication', overlap.collective_ns, union(talk));
same('overlap', overlap.collective_ns - overlap.collective_exposed_ns, both);
const kernels = by(work.filter((w) => w.kind === 'kernel'), (w) => w.name);
sameTable('kernels', answers.kernels.tables.names.rows,
    new Map([...kernels].map(([name, list]) => [name, ns(list)])));

// The same with its steps, and with what it takes for work besides.
const steps = rows.filter((r) => r.kind === 'user_annotation' &&
    /^ProfilerStep#/.test(r.name));
const last = new Set(steps.map((s) => s.name)).size < 2 ? Infinity
    : Math.max(...steps.map((s) => s.start));
const launched = work.filter((w) =>
    last === Infinity || callOf(w)?.start < last);
sameRows('temporal breakdown', query(trace, 'HTA: temporal breakdown'),
    [{ device, kernel_time: window(launched),
        idle_time: window(launched) - union(launched),
        compute_time: union(launched.filter((w) =>
            !isHtaTalk(w) && !isHtaMemory(w))) }], (r) => r.device);
const syncs = launched.concat(rows.filter((r) =>
    r.kind === 'cuda_sync' && r.args.stream !== -1));
const more = union(syncs) - union(launched);
const most = sum(ns(syncs)) - sum(ns(launched));
same('synchronisation taken for work', more, most / 2, most / 2);
same('its window is no shorter', window(syncs) >= window(launched), true);

// Gaps of each stream.
const gaps = new Map();
for (const [stream, list] of by(work, (w) => w.args.stream)) {
    list.sort((a, b) => a.start - b.start || a.end - b.end);
    for (let i = 1; i < list.length; i++) {
        const until = list[i - 1].end, gap = list[i].start - until;
        const idle_category = callOf(list[i])?.start > until ? 'host_wait'
            : gap < 30000 ? 'kernel_wait' : 'other';
        const key = `${stream} ${idle_category}`;
        const row = gaps.get(key) ?? { stream, idle_category, idle_time: 0 };
        row.idle_time += gap;
        gaps.set(key, row);
    }
}
sameRows('idle time breakdown', query(trace, 'HTA: idle time breakdown'),
    [...gaps.values()], (r) => `${r.stream} ${r.idle_category}`);

sameRows('kernel breakdown', query(trace, 'HTA: kernel breakdown'),
    [...kernels].map(([name, list]) => {
        const { median, lower, ...columns } = statistics(ns(list));
        return { name, ...columns };
    }), (r) => r.name, (column, value) =>
        (['mean', 'std'].includes(column) ? 1e-9 * value + 1e-6 : 0));

// Launched and not begun.
const launches = (names) => work.filter((w) => names.includes(callOf(w)?.name));
const queues = [...by(launches(['cudaLaunchKernel', 'cudaLaunchKernelExC',
    'cuLaunchKernel', 'cuLaunchKernelEx', 'cudaMemcpyAsync',
    'cudaMemsetAsync']), (w) => w.args.stream)].map(([stream, list]) => {
    const changes = list.flatMap((w) => [[callOf(w).start, 1], [w.start, -1]]);
    let length = 0;
    const lengths = changes.sort((a, b) => a[0] - b[0] || b[1] - a[1])
        .map(([, n]) => (length += n));
    const { count, mean, min, max } = statistics(lengths);
    return { stream, count, mean, min, max };
});
sameRows('queue length', query(trace, 'HTA: queue length'), queues,
    (r) => r.stream, (column) => (column === 'mean' ? 1e-9 : 0));

// Copies: what the source says of each, which knows the duration unrounded.
const rates = by(work.filter((w) => w.kind !== 'kernel'), (w) => w.start);
const found = query(trace, 'HTA: memory bandwidth');
same('copies and sets', found.length, sum([...rates.values()]
    .map((list) => list.length)));
for (const { start_ns, size, duration_ns } of found) {
    const fits = (w) => {
        const stated = w.args['memory bandwidth (GB/s)'];
        return w.args.bytes === size && w.end - w.start === duration_ns &&
            stated * Math.max(0, duration_ns - 1000) <= size * 1.001 &&
            stated * (duration_ns + 1000) >= size * 0.999;
    };
    if (!rates.get(start_ns)?.some(fits))
        same(`copy at ${start_ns}`, JSON.stringify(rates.get(start_ns)?.[0]),
            `${size} bytes in ${duration_ns} ns`);
}

const launch = launches(['cudaLaunchKernel', 'cudaLaunchKernelExC',
    'cudaMemcpyAsync', 'cudaMemsetAsync']).map((w) => {
    const call = callOf(w);
    return { cpu: call.end - call.start, gpu: w.end - w.start,
        delay: Math.max(0, w.start - call.end) };
});
sameRows('launch statistics', query(trace, 'HTA: launch statistics'), [{
    launches: launch.length,
    short: launch.filter((l) => l.gpu < l.cpu && l.cpu <= 50000).length,
    outliers: launch.filter((l) => l.cpu > 50000).length,
    late: launch.filter((l) => l.delay > 100000).length,
    launch_delay: sum(launch.map((l) => l.delay)) }], () => 'all');

// TraceLens: of a kernel of communication the name says so anywhere.
const copies = work.filter((w) => w.kind === 'gpu_memcpy');
const lensTalk = work.filter((w) => w.kind !== 'gpu_memcpy' && isLensTalk(w));
const computation = work.filter((w) =>
    w.kind !== 'gpu_memcpy' && !isLensTalk(w));
const noCopy = union([...computation, ...lensTalk]);
sameRows('timeline', query(trace, 'TraceLens: timeline of a GPU'), [{ device,
    computation_time: union(computation),
    exposed_comm_time: noCopy - union(computation),
    exposed_memcpy_time: busy - noCopy, busy_time: busy,
    idle_time: window(work) - busy, total_time: window(work),
    total_comm_time: union(lensTalk), total_memcpy_time: union(copies) }],
(r) => r.device);
same('busy time', summary.busy_ns, busy);
done();
