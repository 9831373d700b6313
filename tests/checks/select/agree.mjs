// One selection in all tools: what each says of a selection of a trace is what
// it says of the part that ts-cut writes, and one figure is the same in all.
//     node agree.mjs FOLDER_OF_TOOLS FOLDER TRACE
//     node agree.mjs FOLDER_OF_TOOLS --help
//     node agree.mjs FOLDER_OF_TOOLS FOLDER --ranks
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const [tools, folder, trace] = process.argv.slice(2);
let wrong = 0, checked = 0;
const same = (what, a, b) => {
    const [x, y] = [JSON.stringify(a), JSON.stringify(b)];
    checked++;
    if (x === y) return;
    wrong++;
    let at = 0;
    while (x?.[at] === y?.[at]) at++;
    console.error(`${what}:\n  ${x?.slice(Math.max(0, at - 100), at + 100)}` +
        `\n  ${y?.slice(Math.max(0, at - 100), at + 100)}`);
};
const run = (tool, ...words) => spawnSync(`${tools}/ts-${tool}`, words,
    { maxBuffer: 1 << 30, encoding: 'utf8' });
const json = (tool, ...words) => {
    const it = run(tool, '--json', ...words);
    try {
        return JSON.parse(it.stdout);
    } catch {
        return { failed: it.status };
    }
};
const query = (sql, ...words) => json('query', ...words, sql).results?.[0].rows
    .map((row) => Object.values(row));

/* ---- --help -------------------------------------------------------------- */

const takes = ['analyze', 'cut', 'diff', 'export', 'info', 'query', 'replay',
    'view'];
const options = ['rank', 'step', 'zone', 'from', 'to', 'device', 'stream'];

const help = () => {
    const rows = (tool) => Object.fromEntries(options.map((option) => {
        const text = run(tool, '--help').stdout;
        const found = new RegExp(`^  --${option} [^]*?(?=\n  -)`, 'm')
            .exec(text);
        return [option, found?.[0]];
    }));
    const first = rows('cut');
    for (const option of options)
        if (!first[option]) same(`--${option}`, 'missing', '');
    for (const tool of takes) same(`--help of ${tool}`, rows(tool), first);
};

/* ---- Selections ---------------------------------------------------------- */

// The first and one in the middle.
let steps_rows = [];
const steps_of = () => {
    const said = json('analyze', '--only', 'steps', trace).answers?.steps;
    const rows = said?.tables?.steps?.rows ?? [];
    steps_rows = [rows[0], rows[rows.length >> 1]].filter((row) => row)
        .map((row) => ({ ...row, found: said.figures.marked === 'no' }));
    return steps_rows;
};

const selections = () => {
    const info = json('info', trace);
    const some = [];
    for (const step of steps_of(trace))
        some.push(['--step', String(step.number)]);
    if (some.length > 1)
        some.push(['--step', `${some[0][1]}..${some.at(-1)[1]}`]);
    const from = info.first_ns, span = info.last_ns - from;
    some.push(['--from', `${from + Math.floor(span * 0.4)}ns`,
        '--to', `${from + Math.floor(span * 0.6)}ns`]);
    const lane = query('SELECT device, stream, count(*) n FROM gpu_op ' +
        'GROUP BY 1, 2 ORDER BY n DESC LIMIT 1', trace)?.[0];
    const [device, stream] = lane ?? [];
    if (lane)
        some.push(['--device', String(device)],
            ['--stream', `${device}:${stream}`],
            ['--stream', `0..${stream}`, '--to',
                `${from + Math.floor(span / 2)}ns`]);
    const zone = query('SELECT name, count(*) n FROM zone ' +
        "WHERE name NOT LIKE '%,%' GROUP BY 1 ORDER BY n DESC LIMIT 1",
    trace)?.[0];
    if (zone) some.push(['--zone', zone[0]]);
    const rank = info.metadata.rank;
    if (rank !== undefined) some.push(['--rank', String(rank)]);
    return some;
};

/* ---- Figures ------------------------------------------------------------- */

const counts = 'SELECT kind, count(*), sum(duration_ns) FROM gpu_op GROUP BY 1';
const others = "SELECT 'zone', count(*), sum(duration_ns) FROM zone UNION " +
    "ALL SELECT 'call', count(*), sum(duration_ns) FROM api_call";

// Of a file: where it lies and how it is stored is no figure.
const without = (said, ...keys) => {
    for (const key of keys) delete said[key];
    return said;
};
const bare = (said) => JSON.parse(JSON.stringify(said, (key, value) =>
    key === 'path' || key === 'next' ||
        key === 'file' && typeof value === 'string'
        ? undefined : value));

// Operations of a window are whole, but nothing that is said of its time is
// more than the window. Of a step nothing is less than the step.
const clipped = ({ window, answers }, words) => {
    const what = words.join(' ');
    const { duration_ns, busy_ns, idle_ns } = answers.summary.figures;
    const row = steps_rows.find((step, i) => i && !step.found &&
        words.length === 2 && words[1] === String(step.number));
    if (row && duration_ns < row.duration_ns)
        same(`length of the step ${what}`, duration_ns, row.duration_ns);
    if (!words.includes('--from')) return;
    const [from, to] = ['--from', '--to'].map((word) =>
        parseInt(words[words.indexOf(word) + 1]));
    const devices = answers.idle?.tables?.devices?.rows ?? [];
    for (const [key, ns] of [['work', window.work_to_ns - window.work_from_ns],
        ['duration', duration_ns],
        ...devices.map((d) => ['span', d.span_ns])])
        if (ns > to - from) same(`${key} ${what}`, ns, to - from);
    same(`busy and idle ${what}`, busy_ns + idle_ns,
        devices.reduce((sum, d) => sum + d.span_ns, 0));
};

const about = (part, words) => {
    const what = words.join(' ');
    const both = (name, ask) => {
        const of_part = ask([], part);
        same(`${name} ${what}`, ask(words, trace), of_part);
        return of_part;
    };
    const analyzed = both('analyze', (w, t) => bare(json('analyze', ...w, t)));
    both('info', (w, t) => without(bare(json('info', ...w, t)), 'bytes'));
    const rows = both('query', (w, t) => query(counts, ...w, t));
    both('query, host', (w, t) => query(others, ...w, t));
    both('export', (w, t) => without(json('export', '-o',
        `${folder}/${basename(trace)}.json`, ...w, t), 'bytes'));
    both('view', (w, t) => bare(json('view', '--stats', ...w, t)));
    both('view, events', (w, t) => json('view', '--events', '--limit', '1000',
        ...w, t).events);
    both('view, kernels', (w, t) => json('view', '--stats', '--kind', 'kernel',
        ...w, t).durations);
    both('diff', (w, t) => JSON.parse(JSON.stringify(bare(json('diff', ...w,
        t, t)).answers ?? {}).replaceAll(t, '')));
    const count = rows?.reduce((sum, row) => sum + row[1], 0);
    if (!count) return;
    const summary = analyzed.answers?.summary;
    const works = rows.filter(([kind]) => ['kernel', 'memcpy', 'memset',
        'collective'].includes(kind)).reduce((sum, row) => sum + row[1], 0);
    same(`operations ${what}`, summary?.figures?.operations ?? 0, works);
    if (works) clipped(analyzed, words);
    const kinds = json('info', ...words, trace).counts;
    for (const [kind, n] of rows)
        same(`${kind} of ts-info ${what}`, kinds[kind], n);
    same(`operations of ts-replay ${what}`,
        json('replay', ...words, trace).operations, count);
};

// Of several files times are those of the first: the other one here begins
// 20 ms earlier, with a zone.
const ranks = () => {
    spawnSync('node', ['tests/checks/tasks/job.mjs', folder]);
    const said = JSON.parse(readFileSync(`${folder}/rank1.json`));
    const events = said.traceEvents ?? said;
    const zone = events.find((e) => e.ph === 'X' && !e.args?.correlation);
    const first = Math.min(...events.filter((e) => e.ph === 'X')
        .map((e) => e.ts));
    events.push({ ...zone, ts: first - 20000, dur: 1 });
    writeFileSync(`${folder}/rank1.json`, JSON.stringify(said));
    const traces = [0, 1].map((rank) => `${folder}/of-rank${rank}.trace`);
    traces.forEach((to, rank) =>
        run('import', '-o', to, `${folder}/rank${rank}.json`));
    const { from_ns, to_ns } = json('analyze', '--only', 'summary', '--from',
        '10ms', '--to', '15ms', ...traces).window ?? {};
    same('the window of two ranks', [from_ns, to_ns].map((ns) =>
        Math.round(ns / 1e5) / 10), [10, 15]);
};

if (folder === '--help') {
    help();
} else if (trace === '--ranks') {
    ranks();
} else {
    const part = `${folder}/part-${basename(trace)}`;
    for (const words of selections()) {
        const cut = run('cut', '-o', part, ...words, trace);
        if (!cut.status) {
            about(part, words);
            continue;
        }
        // Nothing is there: no tool makes a report of it.
        for (const tool of ['analyze', 'info'])
            same(`${tool} ${words.join(' ')}`,
                run(tool, ...words, trace).status, 1);
    }
    // A step that ts-analyze found has the operations that it counted.
    for (const step of steps_of())
        if (step.found)
            same(`operations of step ${step.number}`, json('replay', '--step',
                String(step.number), trace).operations, step.operations);
    // What means nothing says what there is.
    for (const words of [['--device', '987654'], ['--step', '987654'],
        ['--from', '9876543s'], ['--zone', 'no such zone']])
        for (const tool of ['analyze', 'info', 'view', 'cut']) {
            const it = run(tool, ...(tool === 'cut' ? ['-o', part] : []),
                ...words, trace);
            same(`${tool} ${words.join(' ')}`,
                [it.status, it.stderr.includes('987654') ||
                    it.stderr.includes('no such zone')], [1, true]);
        }
}
console.log(`${checked} checked, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
