// What `nsys stats` reports of an Nsight Systems export, and what the views of
// a ROCm profile say, against ts-analyze and docs/definitions.md:
//     node tables.mjs DATABASE ANSWERS.json TRACE.sbt
import { execFileSync } from 'node:child_process';
import { by, done, json, query, same, sameRows, sameTable, sameWindow,
    statistics, sum, union, window } from './figures.mjs';

const [database, answersName, trace] = process.argv.slice(2);
const { answers } = json(answersName);
const select = (sql) => {
    const text = execFileSync('sqlite3', ['-readonly', '-json', database, sql],
        { maxBuffer: 1 << 28 }).toString();
    return text ? JSON.parse(text) : [];
};
const has = (table) => select(`SELECT name FROM sqlite_master
    WHERE name = '${table}'`).length > 0;
const durations = (list) => new Map([...by(list, (r) => r.name)]
    .map(([name, rows]) => [name, rows.map((r) => r.end - r.start)]));
const rowsOf = (question, table) => answers[question].tables[table].rows;

const nsys = () => {
    const kernels = select(`SELECT value AS name, deviceId AS device, start,
        end FROM CUPTI_ACTIVITY_KIND_KERNEL
        JOIN StringIds ON id = demangledName`);
    const copies = select(`SELECT CASE copyKind WHEN 1 THEN 'host to device'
        WHEN 2 THEN 'device to host' ELSE 'device to device' END AS name,
        deviceId AS device, start, end, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY
        UNION ALL SELECT 'memset', deviceId, start, end, bytes
        FROM CUPTI_ACTIVITY_KIND_MEMSET`);
    const calls = select(`SELECT substr(value, 1,
        instr(value || '_v', '_v') - 1) AS name, start, end
        FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId`);
    sameTable('cuda_gpu_kern_sum', rowsOf('kernels', 'names'),
        durations(kernels));
    sameTable('cuda_gpu_mem_time_sum', rowsOf('copies', 'kinds'),
        durations(copies));
    sameTable('cuda_api_sum', rowsOf('api', 'functions'), durations(calls));
    sameRows('cuda_gpu_mem_size_sum', rowsOf('copies', 'kinds')
        .map(({ name, bytes }) => ({ name, bytes })),
    [...by(copies, (c) => c.name)].map(([name, list]) =>
        ({ name, bytes: sum(list.map((c) => c.bytes)) })), (r) => r.name);
    sameRows('StdDev', query(trace, 'HTA: kernel breakdown')
        .map(({ name, std }) => ({ name, std })),
    [...durations(kernels)].map(([name, ns]) =>
        ({ name, std: statistics(ns).std })), (r) => r.name,
    (column, value) => 1e-9 * value + 1e-6);

    // Ranges of PyTorch: what follows the name is values of the zone here.
    const ranges = select(`SELECT coalesce(text,
        (SELECT value FROM StringIds WHERE id = textId)) AS name, start, end,
        globalTid AS thread FROM NVTX_EVENTS
        WHERE eventType = 59 AND end IS NOT NULL`);
    const zones = new Map(rowsOf('zones', 'zones').map((z) => [z.name, z]));
    const short = (r) => r.name.replace(/, (seq|op_id|sizes) = .*/, '');
    for (const [name, list] of by(ranges, short)) {
        const zone = zones.get(name), want = statistics(list.map((r) =>
            r.end - r.start));
        same(`nvtx_sum: ${name}`, zone?.count, want.count);
        same(`nvtx_sum: mean of ${name}`, zone?.mean_ns, Math.floor(want.mean));
        same(`nvtx_sum: time of ${name}`, zone?.inclusive_ns,
            sum([...by(list, (r) => r.thread).values()].map(union)));
    }

    const work = [...kernels, ...copies];
    const devices = new Map(rowsOf('summary', 'devices')
        .map((row) => [Number(/GPU (\d+)/.exec(row.device)[1]), row]));
    for (const [number, list] of by(work, (w) => w.device)) {
        const row = devices.get(number), busy = union(list);
        same(`span of GPU ${number}`, row.span_ns, window(list));
        same(`busy time of GPU ${number}`, row.busy_ns, busy);
        same(`idle time of GPU ${number}`, row.idle_ns, window(list) - busy);
    }
    return work;
};

const rpd = () => {
    const work = select(`SELECT gpuId AS device, start, end,
        CASE WHEN description = '' THEN opType ELSE description END AS name
        FROM op`);
    const wall = window(work), { operations } = answers.summary.figures;
    same('operations', operations, work.length);
    sameRows('busy', query(trace, 'ROCm profile: busy'),
        select('SELECT gpuId, GpuTime, WallTime FROM busy'), (r) => r.gpuId);
    // Whole microseconds there, rounded down.
    const kernels = new Map(rowsOf('kernels', 'names').map((k) => [k.name, k]));
    for (const top of select('SELECT * FROM top')) {
        if (/^Copy/.test(top.Name)) continue; // copies have no name here
        const row = kernels.get(top.Name) ?? {};
        same(`top: calls of ${top.Name}`, row.count, top.TotalCalls);
        same(`top: time of ${top.Name}`, Math.floor(row.total_ns / 1000),
            top.TotalDuration);
        same(`top: mean of ${top.Name}`, Math.floor(row.mean_ns / 1000),
            top.Ave);
    }
    same('window of all devices', Math.max(...rowsOf('summary', 'devices')
        .map((d) => d.span_ns)), wall);
    return work;
};

const isNsys = has('CUPTI_ACTIVITY_KIND_KERNEL');
const work = isNsys ? nsys() : rpd();
const [{ first_ns }] = JSON.parse(execFileSync('build/ts-query', ['--json',
    trace, `SELECT min(start_ns) AS first_ns FROM gpu_op WHERE kind IN
    ('kernel', 'memcpy', 'memset')`])).results[0].rows;
sameWindow(trace, work, work.reduce((a, w) => Math.min(a, w.start), Infinity) -
    first_ns);
done();
