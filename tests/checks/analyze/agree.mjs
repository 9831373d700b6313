// The tools say the same of one trace:
//     node agree.mjs FOLDER_OF_TOOLS TRACE...
// Compared are ts-view --states, ts-analyze, ts-query and ts-replay: of each
// device work, busy and idle time, the most in the queue and the latency of
// launches; idle time by cause, late launches, steps, percentiles of kernels.
import { execFileSync } from 'node:child_process';

const [tools, ...traces] = process.argv.slice(2);
const say = (tool, ...options) => JSON.parse(execFileSync(
    `${tools}/ts-${tool}`, ['--json', ...options, ...traces],
    { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'inherit'] }));
let compared = 0, wrong = 0;
const same = (what, said) => {
    const all = Object.values(said).map((value) => JSON.stringify(value));
    compared++;
    if (all.every((value) => value === all[0])) return;
    wrong++;
    console.error(`${what}: ${JSON.stringify(said)}`);
};

// ts-query takes the SQL as its last word.
const sql = (text) => {
    const out = JSON.parse(execFileSync(`${tools}/ts-query`,
        ['--json', ...traces, text],
        { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'inherit'] }));
    if (out.results.length !== 1) throw new Error(text);
    return out.results[0].rows;
};

const view = say('view', '--states');
const replay = say('replay');
const { answers } = say('analyze', '--mangled', '--rows', '1000000', '--only',
    'summary,idle,launch,kernels,steps,advice');
const rows = (question, table) => answers[question]?.tables[table]?.rows ?? [];
const figure = (question, key) => answers[question].figures[key];

// ---- Devices ----

same('devices', { view: view.devices.length,
    analyze: rows('summary', 'devices').length });
const launches = rows('launch', 'devices');
const charts = answers.launch.charts.queue_depth?.items ?? [];
view.devices.forEach((device, i) => {
    const row = rows('summary', 'devices')[i];
    const of = (what) => `device ${i}: ${what}`;
    same(of('work'), { view: device.operations, analyze: row.operations });
    same(of('busy'), { view: device.busy_ns, analyze: row.busy_ns,
        replay: replay.devices.filter((d) => d.busy_ns || d.span_ns)[i]
            ?.busy_ns });
    same(of('idle'), { view: device.idle_ns, analyze: row.idle_ns });
    if (!launches[i]) return;
    same(of('launches'), { view: device.launch.count,
        analyze: launches[i].launches });
    if (device.launch.count)
        same(of('latency'), {
            view: [device.launch.p50_ns, device.launch.p95_ns],
            analyze: [launches[i].p50_ns, launches[i].p95_ns] });
    same(of('queue'), { view: device.queue.max,
        analyze: launches[i].depth_max,
        chart: Math.max(...charts[i].points.map(([, depth]) => depth)) });
});

// ---- Idle time ----

const { total } = view;
same('busy', { view: total.busy_ns, analyze: figure('summary', 'busy_ns') });
same('idle', { view: total.idle_ns, analyze: figure('summary', 'idle_ns'),
    replay: replay.confidence.idle_ns,
    query: sql('SELECT coalesce(sum(duration_ns), 0) AS ns FROM gap')[0].ns });
const byCause = (list) => Object.fromEntries(list.filter(([, ns]) => ns)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
same('idle by cause', {
    view: byCause(Object.entries(total.cause_ns)),
    analyze: byCause(rows('summary', 'idle').map((r) => [r.cause, r.idle_ns])),
    query: byCause(sql('SELECT cause, sum(duration_ns) AS ns FROM gap ' +
        'GROUP BY cause').map((r) => [r.cause, r.ns])) });
if (answers.launch.figures.late_ns !== undefined)
    same('late launches', { summary: figure('summary', 'launch_late_ns'),
        launch: figure('launch', 'late_ns'),
        view: total.cause_ns.host_late + total.cause_ns.launch_latency -
            total.dispatch_ns });

// ---- Steps ----

const marked = sql('SELECT number, duration_ns FROM step ORDER BY number');
const timed = marked.filter((step) => step.duration_ns);
if (figure('steps', 'marked') === 'yes') {
    same('steps', { query: timed.length, analyze: figure('steps', 'count') });
    same('steps left out', { query: marked.length - timed.length,
        analyze: figure('steps', 'left_out') });
    same('each step', {
        query: timed.map((step) => [step.number, step.duration_ns]),
        analyze: rows('steps', 'steps')
            .map((step) => [step.number, step.duration_ns]) });
    const slow = answers.advice.findings.find((f) => f.id === 'slow-step');
    if (slow)
        same('steps in advice', { advice: / of ([\d,]+) steps/.exec(slow.what)[1],
            analyze: figure('steps', 'count').toLocaleString('en') });
} else {
    same('steps to mark', { query: timed.length < 3, analyze: true });
}

// ---- Percentiles ----

const kernels = new Map(sql('SELECT name, count(*) AS count, ' +
    'median(duration_ns) AS p50, percentile(duration_ns, 95) AS p95 ' +
    "FROM gpu_op WHERE kind = 'kernel' GROUP BY name")
    .map((row) => [row.name, [row.count, row.p50, row.p95]]));
for (const kernel of rows('kernels', 'names').slice(0, 100))
    if (kernels.has(kernel.name))
        same(`kernel ${kernel.name}`, { query: kernels.get(kernel.name),
            analyze: [kernel.count, kernel.p50_ns, kernel.p95_ns] });

console.log(`${compared} figures compared, ${wrong} of them differ`);
process.exit(wrong ? 1 : 0);
