// Ten tasks of somebody who optimises, on traces whose truth is known: the
// answer stands in what `ts-analyze TRACE` prints, or in what one or two of the
// commands print that it suggests, run as they stand there:
//     node tasks.mjs FOLDER TASK
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [folder, task] = process.argv.slice(2);
const truth = task && JSON.parse(
    readFileSync(`${folder}/truth.json`, 'utf8'));
const run = (command) => {
    const { stdout, stderr, status } = spawnSync('sh', ['-c', command], {
        cwd: folder, encoding: 'utf8',
        env: { ...process.env, COLUMNS: '100',
            PATH: `${resolve('build')}:${process.env.PATH}` } });
    return { text: stdout.replace(/\s+/g, ' '), lines: stdout + stderr,
        status };
};
const first = (trace = 'run.sbt') => run(`ts-analyze ${trace}`);

// A command of the list at the end, found by what it is said to be for.
const follow = (answer, purpose) => {
    const lines = answer.lines.split('\nNext\n')[1]?.split('\n') ?? [];
    const at = lines.findIndex((line) =>
        line.startsWith('      ') && purpose.test(line));
    if (at < 1) throw new Error(`nothing suggested for ${purpose}`);
    return run(lines[at - 1].trim());
};

const ms = (us) => (us < 10000 ? (us / 1000).toFixed(3)
    : (us / 1000).toPrecision(4)) + ' ms';
const says = (answer, ...wanted) => {
    for (const want of wanted)
        if (!(want instanceof RegExp ? want.test(answer.text)
            : answer.text.includes(want)))
            throw new Error(`not said: ${want}\n${answer.lines}`);
};
const near = (what, got, want, share) => {
    if (!(Math.abs(got - want) <= share * want))
        throw new Error(`${what}: ${got}, and ${want} in truth`);
};
// "48.35 ms" or "1.2 s" behind some words, in us.
const time = (answer, before) => {
    const [, number, unit] = new RegExp(before.source +
        ' ([0-9.]+) (ns|us|ms|s)').exec(answer.text) ?? [];
    return number * { ns: 1e-3, us: 1, ms: 1e3, s: 1e6 }[unit];
};

const tasks = {
    'why the device idles': () => says(first(),
        `idle, all devices ${ms(truth.run.idle_us)}`,
        /host_late [0-9.]+ ms 99\.9 %/,
        "waited longest for the host in 'load_batch'"),
    'what the run is bound by': () => says(first(), /launch-bound no/,
        /host-bound yes/, /It is host-bound:[^:]* in 'load_batch'/),
    'which zone costs most': () => says(first(), new RegExp(
        `load_batch +8 ${ms(truth.run.load_us)}`)),
    'which step is slow, and why': () => {
        const answer = first();
        says(answer, `The slowest is ProfilerStep#${truth.slow} with`,
            `+${ms(7000)} idle, host_late`);
        const zoom = follow(answer, /slowest step/);
        says(zoom, `ProfilerStep#${truth.slow}`, 'load_batch');
        near('what is drawn', time(zoom, /run\.sbt/), 12070, 0.001);
    },
    'what holds the memory': () => says(first(),
        `At most ${truth.run.peak_bytes / (1 << 20)}.0 MiB of cuda:0`,
        '66.7 % of it came from zone keep_loss',
        '128.0 MiB in 8 blocks were never freed'),
    'what a change would gain': () => {
        const answer = follow(first(), /host twice as fast/);
        near('with half the host', time(answer, /what if host 0\.5:/),
            truth.faster_us, 0.02);
    },
    'what changed from one run to another': () => says(
        follow(first(), /another run/),
        /B is 19\.7 % slower: a step takes 6\.070 ms instead of 5\.070 ms/,
        `${ms(truth.other.makespan_us)} instead of ` +
            ms(truth.run.makespan_us), /gemm \+20\.0 %/,
        `load_batch ${ms(truth.run.load_us)} ${ms(truth.other.load_us)}`),
    'a gate for a build': () => {
        const answer = follow(first(), /that fails if/);
        says(answer, '1 of 1 gate failed');
        if (answer.status !== 1) throw new Error(`exit code ${answer.status}`);
        const same = first('same.sbt').lines.split('\nNext\n')[1]
            .split('\n').find((line) => /--gate/.test(line));
        const held = run(same.replace('OTHER.sbt', 'run.sbt'));
        if (held.status !== 0) throw new Error(held.lines);
    },
    'which rank is late, and why': () => {
        const answer = first('rank?.sbt');
        says(answer, `The others wait longest for rank ${truth.straggler}: ` +
            `${ms(truth.waited_us)}; it arrives last in 8 of 8`);
        says(follow(answer, /the others wait/), /^rank2\.sbt:/,
            /It is host-bound:[^:]* in 'load_batch'/);
    },
    'a report for others': () => {
        follow(first(), /page/);
        execFileSync('xmllint', ['--noout', `${folder}/report.html`]);
        const page = readFileSync(`${folder}/report.html`, 'utf8')
            .replace(/\s+/g, ' ');
        says({ text: page, lines: '' }, 'It is host-bound', 'load_batch',
            ms(truth.run.makespan_us));
    },
};
if (!task) console.log(Object.keys(tasks).join('\n'));
else tasks[task]();
