// What must hold of everything that the tools say of traces, whatever is in
// them:
//     node check.mjs FOLDER_OF_TOOLS TRACE...
// Of several traces, the processes of one run, what is said jointly.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

const [tools, ...traces] = process.argv.slice(2);
let checked = 0, wrong = 0;
const fail = (what) => {
    console.error(what);
    wrong++;
};
const holds = (condition, what) => {
    checked++;
    if (!condition) fail(what);
};
const same = (what, said) => {
    const all = Object.values(said).filter((value) => value !== undefined)
        .map((value) => JSON.stringify(value));
    holds(all.every((value) => value === all[0]),
        `${what}: ${JSON.stringify(said)}`);
};
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// What a tool prints, and its exit status: never by a signal.
const run = (tool, ...words) => {
    const it = spawnSync(`${tools}/ts-${tool}`, words,
        { maxBuffer: 1 << 30, encoding: 'utf8' });
    holds(!it.signal, `ts-${tool} ${words.join(' ')}: ${it.signal}`);
    texts(`ts-${tool}, errors`, it.stderr);
    return it;
};
const json = (tool, ...words) => {
    const it = run(tool, '--json', ...words);
    if (!it.stdout.trim()) return undefined;
    const said = JSON.parse(it.stdout);
    numbers(`ts-${tool}`, said);
    return said;
};

/* ---- What no text says --------------------------------------------------- */

const things = 'records?|kernels?|events?|operations?|calls?|zones?|steps?|' +
    'streams?|launch(?:es)?|copies|copy|gaps?|ranks?|devices?|threads?|rows?|' +
    'slices?|arrows?|files?|tracks?|samples?|chunks?|processes|process|' +
    'collectives?|times?|nodes?|findings?|gates?|places?|waits?|names?|' +
    'sequences?|allocations?|iterations?';
const words = [
    [/\b(nan|inf|undefined|null)\b %?/i, 'a number that is none'],
    [/1844674407\d{10}|922337203685477\d{4}/, 'a number that ran over'],
    [/-0(\.0+)? ?%|-0\.0+ ?[a-z]/, 'less than nothing by nothing'],
    [/\b1 \w+ of [\d,]+ \w+ (hold|take|run) /, 'one or many'],
    [/\w\(s\)(?!\w)/, 'one or many'],
];
const plural = new RegExp(`(^|[^\\w.,#-])(\\d(?:[\\d,]*\\d)?) (${things})\\b` +
    `(?: (are|were|have|is|was|has)\\b)?`, 'g');
const many = (word) => word === 'copies' || word === 'processes' ||
    (word.endsWith('s') && word !== 'process');

// Sentences, and tables without their columns of names.
function texts(where, text) {
    for (const line of text.split('\n')) {
        // Lists of counts are no sentences.
        if (/^ *(edges +)?[\d,]+:? [\w, ]*_/.test(line)) continue;
        for (const [pattern, what] of words)
            holds(!pattern.test(line), `${where}: ${what}: ${line.trim()}`);
        for (const [, , digits, thing, verb] of line.matchAll(plural)) {
            const one = digits === '1';
            const fits = many(thing) !== one &&
                (!verb || ['is', 'was', 'has'].includes(verb) === one);
            // "of 12 kernel names", "GPU 0 copies": the number is no count.
            const other = new RegExp(`${thing}(-[a-z]| [a-z]+=)|(GPU|stream|` +
                `rank|thread|device|step|context|CUDA|number) ${digits} `)
                .test(line);
            holds(fits || other, `${where}: one or many: ${line.trim()}`);
        }
    }
}

const shares = (where, all) => {
    const text = all.replace(/\d\.\.[\d.]+ %/g, ''); // a counter's range
    for (const [said, number] of text.matchAll(/([\d.]+) ?%/g))
        holds(Number(number) <= 100, `${where}: ${said} of all: ` +
            text.split('\n').find((line) => line.includes(said)).trim());
};

// Of every JSON: no number that is none, no share above all of it.
function numbers(where, value, path = '') {
    if (typeof value === 'number') {
        const key = path.slice(path.lastIndexOf('.') + 1);
        holds(Number.isFinite(value), `${where}${path}: ${value}`);
        if (/(^|_)share$|utilisation$/.test(key) && where !== 'ts-diff')
            holds(value >= 0 && value <= 1.0000001,
                `${where}${path}: a share of ${value}`);
        if (/^(count|operations|gaps|size|lost|bytes)$/.test(key) ||
            /^(duration|busy|idle|span|total|self|gain|longest)_ns$/.test(key))
            holds(value >= 0, `${where}${path}: ${value}`);
        if (/(_ns|bytes)$/.test(key))
            holds(Math.abs(value) < 4e18, `${where}${path}: ${value}`);
    } else if (value && typeof value === 'object') {
        for (const [key, inner] of Object.entries(value))
            numbers(where, inner, Array.isArray(value) ? path
                : `${path}.${key}`);
    }
}

/* ---- One trace ----------------------------------------------------------- */

const work = ['kernel', 'memcpy', 'memset', 'collective'];
// Zones but those in which a profiler tells of itself.
const program = 'WHERE track NOT IN (SELECT t.id FROM track t ' +
    "LEFT JOIN track p ON p.id = t.parent WHERE p.type = 'device' OR " +
    "(t.number = 0 AND t.name LIKE 'profiler %'))";

function one(trace) {
    const info = json('info', trace);
    const stats = json('view', '--stats', trace);
    const sql = (text) => {
        const it = json('query', trace, text);
        return it.results[0].rows;
    };
    texts('ts-info', run('info', trace).stdout.split('metadata')[0]
        .split('\n').filter((line) => !/^ +[\w.]+ +\S*["\[{]/.test(line))
        .join('\n'));
    const timeline = run('view', '--width', '120', '--limit', '0', trace);
    shares('ts-view', timeline.stdout);
    texts('ts-view', timeline.stdout.split('\n')[0]);
    shares('ts-view --stats',
        run('view', '--stats', '--width', '60', trace).stdout);
    const kinds = {};
    for (const d of stats.durations) {
        kinds[d.kind] ??= { count: 0, total: 0 };
        kinds[d.kind].count += d.count;
        kinds[d.kind].total += d.total_ns;
        holds(d.min_ns <= d.p50_ns && d.p50_ns <= d.p95_ns &&
            d.p95_ns <= d.p99_ns && d.p99_ns <= d.max_ns &&
            d.min_ns <= d.mean_ns && d.mean_ns <= d.max_ns,
            `ts-view --stats: percentiles of ${d.name}`);
        holds(d.self_ns <= d.count * d.mean_ns + d.count,
            `ts-view --stats: ${d.name} has more of its own than it lasts`);
    }
    const ops = sql('SELECT kind, count(*) AS n, sum(duration_ns) AS ns ' +
        'FROM gpu_op GROUP BY kind');
    for (const { kind, n, ns } of ops) {
        same(`${kind}: how many`, { info: info.counts[kind], query: n,
            view: kinds[kind]?.count });
        same(`${kind}: time`, { query: ns, view: kinds[kind]?.total });
    }
    const [zones] = sql('SELECT count(*) AS n, sum(self_ns) AS self, ' +
        `min(self_ns) AS least, max(depth) AS deepest FROM zone ${program}`);
    same('zones', { query: zones.n,
        view: (kinds.zone?.count ?? 0) - (info.counts.zone_open ?? 0) });
    same('all zones', { info: info.counts.zone,
        query: sql('SELECT count(*) AS n FROM zone')[0].n });
    holds((zones.least ?? 0) >= 0, `ts-query: self_ns of ${zones.least}`);
    const [nested] = sql('SELECT count(*) AS n FROM zone c JOIN zone p ' +
        'ON p.id = c.parent WHERE c.start_ns < p.start_ns ' +
        'OR c.start_ns > p.end_ns');
    holds(!nested.n, `ts-query: ${nested.n} zones not in their parents`);
    if (!info.counts.zone_open)
        for (const { name, self } of sql('SELECT name, sum(self_ns) AS self ' +
            `FROM zone ${program} GROUP BY name`))
            same(`zone ${name}: of its own`, { query: self,
                view: stats.durations.find((d) => d.kind === 'zone' &&
                    d.name === name)?.self_ns });
    same('losses', { info: info.lost,
        query: sql('SELECT coalesce(sum(count), 0) AS n FROM loss ' +
            "WHERE coalesce(stall, 0) = 0")[0].n });
    exports(trace, info);
    return info;
}

// What is told is what is written.
function exports(trace, info) {
    const out = `${trace}.export.json`;
    const told = json('export', '-o', out, trace);
    const { traceEvents } = JSON.parse(readFileSync(out));
    rmSync(out);
    texts('ts-export', run('export', '-o', out, trace).stdout);
    rmSync(out);
    const count = (...phases) =>
        traceEvents.filter((e) => phases.includes(e.ph)).length;
    // Arrows need slices: the moments of a flow are slices of no duration.
    const moments = traceEvents.filter((e) => e.ph === 'X' && e.dur === 0 &&
        e.cat === 'flow').length;
    same('exported slices', { told: told.slices,
        written: count('X', 'b') - moments });
    // An arrow ends in each slice that takes in a number which one gives out.
    const given = new Set(traceEvents.filter((e) => e.flow_out)
        .map((e) => e.bind_id));
    const taken = traceEvents.filter((e) => e.flow_in && given.has(e.bind_id));
    same('exported arrows', { told: told.arrows,
        written: count('f') + taken.length });
    same('exported arrows with two ends', { begin: count('s'), end: count('f'),
        told: count('f') });
    same('exported samples', { told: told.samples, written: count('C') });
    const pf = json('export', '-o', `${trace}.pftrace`, trace);
    rmSync(`${trace}.pftrace`);
    for (const key of ['slices', 'instants', 'samples', 'arrows'])
        same(`exported ${key}`, { chrome: told[key], perfetto: pf[key] });
}

/* ---- All together -------------------------------------------------------- */

function states(view) {
    for (const d of view.devices) {
        const span = d.end_ns - d.start_ns;
        same(`${d.name}: span`, { span, parts: d.busy_ns + d.idle_ns,
            concurrency: sum(d.concurrency_ns) });
        same(`${d.name}: idle`, { idle: d.idle_ns,
            causes: sum(Object.values(d.cause_ns)),
            confidence: sum(Object.values(d.confidence)) });
        same(`${d.name}: busy`, { busy: d.busy_ns,
            only: sum(Object.values(d.only_ns)) });
    }
    for (const key of ['busy_ns', 'idle_ns', 'operations'])
        same(`states: ${key}`, { total: view.total[key],
            devices: sum(view.devices.map((d) => d[key])) });
    for (const s of view.streams ?? [])
        same(`${s.name}: states`, {
            states: sum(s.states.map((one) => one.end_ns - one.start_ns)),
            sums: sum(Object.values(s.state_ns)) });
}

// A text in one line, as words are broken differently.
const flat = (text) => text.replace(/\s+/g, ' ');
const plain = (html) => html.replace(/<[^>]*>/g, ' ')
    .replace(/&#160;/g, ' ').replace(/&(lt|gt|amp|quot|#39);/g, (_, name) =>
        ({ lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" })[name])
    .replace(/\s+/g, ' ');

function analysis(view, replay, infos) {
    const page = `${traces[0]}.html`;
    const said = json('analyze', '--rows', '1000000', ...traces);
    const shown = run('analyze', '--html', page, ...traces).stdout ||
        run('analyze', ...traces).stdout;
    const html = plain(readFileSync(page, 'utf8'));
    rmSync(page);
    texts('ts-analyze', shown);
    const oneLine = flat(shown);
    same('files: lost', { analyze: said.files.map((f) => f.lost),
        info: infos.map((i) => i.lost) });
    const rows = (question, table) =>
        said.answers[question]?.tables?.[table]?.rows ?? [];
    for (const [name, a] of Object.entries(said.answers)) {
        for (const [key, table] of Object.entries(a.tables ?? {}))
            for (const column of Object.keys(table.units))
                if (table.units[column] === 'share' && column !== 'change')
                    holds(table.rows.every((row) =>
                        !(row[column] < 0 || row[column] > 1.0000001)),
                        `${name}, ${key}: ${column} of ` +
                        Math.max(...table.rows.map((row) => row[column])));
        if (a.answer) {
            const answer = flat(a.answer);
            holds(oneLine.includes(answer), `${name}: other words as text`);
            holds(html.includes(answer), `${name}: other words on the page: ` +
                answer);
            shares(`ts-analyze ${name}`, answer);
            texts(`ts-analyze ${name}`, answer);
        }
        for (const f of a.findings ?? []) {
            const whole = f.makespan_ns ?? replay?.recorded_makespan_ns;
            if (f.gain_ns) holds(f.gain_ns <= whole,
                `${f.id}: gains ${f.gain_ns} of ${whole}`);
            texts(f.id, `${f.what} ${f.todo}`);
            shares(f.id, f.what);
        }
    }
    if (!view) return said;
    const idle = rows('summary', 'idle');
    const figures = said.answers.summary.figures;
    const device = rows('summary', 'devices');
    same('busy', { states: view.total.busy_ns, analyze: figures.busy_ns,
        devices: sum(device.map((d) => d.busy_ns)) });
    same('idle', { states: view.total.idle_ns, analyze: figures.idle_ns,
        causes: sum(idle.map((r) => r.idle_ns)),
        replay: replay.confidence?.idle_ns ?? 0 });
    same('span', { states: view.devices.map((d) => d.end_ns - d.start_ns),
        analyze: device.map((d) => d.span_ns) });
    same('operations', { states: view.total.operations,
        analyze: figures.operations, work: sum(infos.map((i) =>
            sum(work.map((kind) => i.counts[kind] ?? 0)))) });
    const kernels = rows('kernels', 'names');
    same('kernels', { info: sum(infos.map((i) =>
        i.counts.kernel + i.counts.collective)),
        analyze: sum(kernels.map((k) => k.count)) });
    same('kernels: time', { analyze: sum(kernels.map((k) => k.total_ns)),
        summary: figures.kernel_sum_ns });
    if (traces.length === 1)
        same('zones', { analyze: [sum(rows('zones', 'zones').map((z) =>
            z.count)), sum(rows('zones', 'zones').map((z) =>
            z.exclusive_ns))], query: Object.values(json('query', traces[0],
            'SELECT count(*) AS n, coalesce(sum(self_ns), 0) AS ns ' +
            `FROM zone ${program}`).results[0].rows[0]) });
    because(said, rows);
    const none = /no steps|steps? (?:are|is) marked/i;
    for (const [name, a] of Object.entries(said.answers))
        holds(!(none.test(a.answer ?? '') && /\bno\b/i.test(a.answer) &&
            a.tables?.steps?.rows?.length),
            `${name}: says that there are no steps beside a table of them`);
    const shareSum = sum(rows('summary', 'concurrency').map((r) => r.time_ns));
    same('concurrency', { parts: shareSum, span: sum(device.map((d) =>
        d.span_ns)) });
    return said;
}

// A cause is no call, and what one answer says the others do not deny.
function because(said, rows) {
    for (const d of rows('launch', 'devices'))
        holds(!(d.depth_mean > d.depth_max),
            `${d.device}: ${d.depth_mean} in the queue on average, ` +
            `${d.depth_max} at most`);
    for (const table of ['names', 'parts'])
        for (const p of rows('path', table))
            holds(!(p.cost === 'host' && /^until /.test(p.name ?? p.what)),
                `path: the host's time is "${p.name ?? p.what}"`);
    for (const g of rows('idle', 'gaps'))
        holds(!(g.cause === 'host_sync' && /Query/.test(g.waited_for)),
            `idle: ${g.idle_ns} ns because of a call that only asks`);
    const { answers } = said;
    const waited = rows('idle', 'causes').find((r) => r.cause === 'host_sync');
    if (answers.sync?.tables)
        same('idle for synchronisations', { idle: waited?.idle_ns ?? 0,
            sync: sum([...rows('sync', 'sites'), ...rows('sync', 'polls')]
                .map((r) => r.idle_ns ?? 0)) });
    const bound = /bound by (\w+) \(([\d.]+) %/.exec(
        said.answers.advice?.answer);
    const cost = bound && rows('path', 'costs').find((c) =>
        c.cost === bound[1]);
    if (cost) same('share of the critical path', { advice: Number(bound[2]),
        path: Number((100 * cost.share).toFixed(1)) });
    const order = ['high', 'medium', 'low'];
    for (const f of answers.advice?.findings ?? [])
        holds(!f.gain_ns || order.indexOf(f.confidence) >=
            order.indexOf(answers.advice.confidence),
            `${f.id}: surer than the answer that it is of`);
    const steps = answers.steps?.figures;
    holds(!(steps?.marked === 'no' && answers.steps.confidence === 'high' &&
        steps.outside_ns > steps.count * steps.mean_ns),
        'steps: sure of steps that most of the run is not in');
}

/* ---- All ----------------------------------------------------------------- */

const infos = traces.map(one);
const replay = json('replay', ...traces);
const view = infos.some((i) => work.some((kind) => i.counts[kind]))
    ? json('view', '--states', ...traces) : undefined;
if (view) {
    states(view);
    shares('ts-view --states', run('view', '--states', '--width', '120',
        ...traces).stdout);
    holds(replay.makespan_error === 0 || replay.circle.length,
        'ts-replay: the record is not repeated');
    // Devices without an operation of theirs have no span.
    if (!replay.circle.length) same('busy, each device', {
        states: view.devices.map((d) => d.busy_ns),
        replay: replay.devices.filter((d) => d.busy_ns || d.span_ns)
            .map((d) => d.busy_ns) });
    texts('ts-replay', run('replay', ...traces).stdout);
    shares('ts-replay', run('replay', ...traces).stdout);
}
analysis(view, replay, infos);
const diff = run('diff', ...traces, '--', ...traces);
texts('ts-diff', diff.stdout);
holds(/No difference/.test(diff.stdout),
    'ts-diff: a trace differs from itself');
console.log(`${checked} checked, ${wrong} wrong`);
process.exit(wrong || !checked ? 1 : 0);
