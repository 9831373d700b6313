// Doubles of vendors' tools: they take the options that their manuals have,
// refuse others, run the program, and write a small output of the tool's own
// format.
//     node doubles.js TOOL ARGUMENT...
// $DOUBLE says what goes wrong: fail (before the program runs), nothing (is
// written), die (killed after the program), cut (the end of the output is missing),
// several (two processes), soft (nsys export fails with exit status 0), broken
// (nsys export writes no database), hang (nsys export, writes its number into
// $HANGS), stuck (likewise, and no SIGTERM ends it), trap (xctrace export ends by
// a signal).
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const [tool, ...words] = process.argv.slice(2);
const does = process.env.DOUBLE || '';
const version = process.env.NSYS_VERSION || '2025.5.2.266-255236693005v0';
const fixture = (name) => fs.readFileSync(path.join(__dirname, name), 'utf8');

function refuse(why) {
    console.error(`${tool}: ${why}`);
    process.exit(1);
}

// Takes the options in front: { '--output': true } has a value, behind = (eq)
// or as the next word (next). Returns them and the words that are left.
function parse(all, known, style) {
    const given = {};
    let i = 0;
    for (; i < all.length && all[i].startsWith('-') && all[i] !== '--'; i++) {
        const [name, ...rest] = all[i].split('=');
        if (!(name in known)) refuse(`unrecognized option '${all[i]}'`);
        if (!known[name]) {
            if (rest.length) refuse(`${name} has no value`);
            given[name] = true;
        } else if (rest.length && style !== 'next') {
            given[name] = rest.join('=');
        } else if (style !== 'eq') {
            given[name] = all[++i];
        } else {
            refuse(`${name} needs a value`);
        }
    }
    return [given, all.slice(i)];
}

// Names that one of the tools would replace or refuse.
function place(name) {
    if (!name || /[^A-Za-z0-9/._+=,@-]/.test(name)) refuse(`bad path: ${name}`);
    return name;
}

// Runs the program as a child, and hands on signals as the tools do.
function run(command, done) {
    if (does === 'fail') refuse('no device was found');
    if (!command.length) refuse('no application was given');
    let child;
    for (const name of ['SIGINT', 'SIGTERM'])
        process.on(name, () => child.kill(name));
    child = spawn(command[0], command.slice(1), { stdio: 'inherit' });
    child.on('error', () => refuse(`cannot run ${command[0]}`));
    child.on('exit', (code, signal) => {
        if (does === 'die') process.kill(process.pid, 'SIGKILL');
        if (does !== 'nothing') done();
        process.exitCode = signal ? 128 + os.constants.signals[signal] : code;
        if (tool === 'msprof' || tool === 'mcTracer') process.exitCode = 0;
    });
}

function write(file, bytes) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, does === 'cut' ? bytes.slice(0, -9) : bytes);
}

function database(file, sql) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    execFileSync('sqlite3', [file], { input: sql });
    if (does === 'cut') fs.truncateSync(file, 100);
}

// The processes that an output has files of.
const processes = does === 'several' ? [100, 200] : [100];

/* ---- nsys ---------------------------------------------------------------- */

const magic = 'NVIDIA Tegra Profiler Report ';

function nsysProfile(all) {
    const [o, command] = parse(all, { '--output': 1, '--force-overwrite': 1,
        '--trace': 1, '--sample': 1, '--duration': 1, '--delay': 1,
        '--cuda-graph-trace': 1, '--kill': 1, '--wait': 1 }, 'eq');
    const output = place(o['--output']);
    run(command, () => write(`${output}.nsys-rep`,
        `${magic}${version.replace(/\./g, '@')}.\n${fixture('nsys.sql')}`));
}

function newer(a, b) {
    const [x, y] = [a, b].map((v) => v.split(/[.@]/).map(Number));
    for (let i = 0; i < 3; i++) if (x[i] !== y[i]) return x[i] > y[i];
    return false;
}

function nsysExport(all) {
    const [o, files] = parse(all, { '--type': 1, '--output': 1,
        '--force-overwrite': 1, '--quiet': 1 }, 'eq');
    if (o['--type'] !== 'sqlite') refuse(`type ${o['--type']}`);
    const output = place(o['--output']);
    if (['hang', 'stuck', 'soft'].includes(does)) // as SQLite does
        for (const end of ['journal', 'wal', 'shm'])
            fs.writeFileSync(`${output}-${end}`, 'text');
    if (does === 'hang' || does === 'stuck') {
        process.on('SIGTERM', () => {
            if (does === 'hang') setTimeout(() => process.exit(1), 200);
        });
        fs.writeFileSync(process.env.HANGS, String(process.pid));
        return setInterval(() => {}, 1000);
    }
    const text = fs.readFileSync(place(files[0]), 'utf8');
    const [head] = text.split('\n');
    const maker = head.slice(magic.length, -1).replace(/@/g, '.');
    const fail = (why) => {
        console.log(`Exportation error: ${why}`);
        process.exit(does === 'soft' ? 0 : 1);
    };
    if (!head.startsWith(magic)) fail('Version tag is not found.');
    if (newer(maker, version))
        fail(`Report was created in Nsight Systems version (${maker}),\n` +
            `newer than your current version (${version}).`);
    if (does === 'soft') fail('Section Table Reference magic number mismatch.');
    if (does === 'broken') fs.writeFileSync(output, 'no database');
    else database(output, text.slice(head.length + 1));
}

function nsys([task, ...all]) {
    if (task === '--version')
        console.log(`NVIDIA Nsight Systems version ${version}`);
    else if (task === 'profile') nsysProfile(all);
    else if (task === 'export') nsysExport(all);
    else refuse(`unknown command ${task}`);
}

/* ---- The others ---------------------------------------------------------- */

function rocprofv3(all) {
    const [o, rest] = parse(all, { '--output-directory': 1, '-d': 1,
        '--output-format': 1, '--runtime-trace': 0, '--sys-trace': 0,
        '--kernel-trace': 0, '--hip-trace': 0 }, 'both');
    if (rest[0] !== '--') refuse('-- is missing');
    if (!Object.keys(o).some((name) => name.endsWith('-trace')))
        refuse('nothing to trace');
    const folder = `${place(o['--output-directory'])}/host`;
    const format = o['--output-format'] || 'rocpd';
    run(rest.slice(1), () => processes.forEach((process) => {
        const base = `${folder}/${process}_results`;
        if (format === 'json')
            write(`${base}.json`, fs.readFileSync(
                'tests/tools/import/rocprofv3/kernels.json'));
        else if (format === 'rocpd')
            database(`${base}.db`,
                fixture('rocpd.sql').replace(/PROCESS/g, String(process)));
        else refuse(`format ${format}`);
    }));
}

function xctraceExport(all) {
    const [o] = parse(all, { '--input': 1, '--xpath': 1, '--output': 1 },
        'next');
    const template = fs.readFileSync(`${o['--input']}/template`, 'utf8');
    const wanted = o['--xpath'].match(
        /^\/trace-toc\/run\[@number="1"\]\/data\/table\[(.*)\]$/);
    if (!wanted) refuse(`bad XPath: ${o['--xpath']}`);
    const names = wanted[1].split(' or ').map((test) =>
        test.match(/^@schema="([a-z-]+)"$/)[1]);
    const nodes = fixture(template === 'Time Profiler' ? 'time.xml' :
        'metal.xml').split(/(?=<node)/).filter((node) =>
        names.some((name) => node.includes(`<schema name="${name}"`)));
    write(place(o['--output']), '<?xml version="1.0"?>\n' +
        `<trace-query-result>\n${nodes.join('')}</trace-query-result>\n`);
    if (does === 'trap') process.kill(process.pid, 'SIGTRAP');
}

function xctrace([task, ...all]) {
    if (task === 'export') return xctraceExport(all);
    if (task !== 'record') refuse(`unknown command ${task}`);
    const [o, rest] = parse(all, { '--output': 1, '--template': 1,
        '--instrument': 1, '--time-limit': 1, '--env': 1, '--target-stdin': 1,
        '--target-stdout': 1, '--launch': 0, '--no-prompt': 0 }, 'next');
    if (!o['--launch'] || rest[0] !== '--') refuse('nothing to launch');
    if (!['Metal System Trace', 'Time Profiler'].includes(o['--template']))
        refuse(`no template ${o['--template']}`);
    const folder = place(o['--output']);
    run(rest.slice(1), () => write(`${folder}/template`, o['--template']));
}

function mcTracer(all) {
    const [o, command] = parse(all, { '--mctx': 0, '--odname': 1, '--name': 1 },
        'next');
    const folder = path.join(process.cwd(), place(o['--odname']));
    run(command, () => processes.forEach((process) =>
        write(`${folder}/tracer_out-${process}.json`,
            fixture('tracer.json').replace(/PROCESS/g, String(process)))));
}

// msprof puts the words of the program into one text, and splits that.
function msprof(all) {
    const [o, command] = parse(all, { '--output': 1, '--ascendcl': 1,
        '--task-time': 1, '--aicpu': 1, '--type': 1 }, 'eq');
    const folder = place(o['--output']);
    const result = 'mindstudio_profiler_output/msprof_20261128.json';
    run(command.join(' ').split(' '), () => processes.forEach((process) =>
        write(`${folder}/PROF_${process}/${result}`,
            fs.readFileSync('tests/tools/import/kineto/ascend.json'))));
}

const tools = { nsys, rocprofv3, xctrace, mcTracer, msprof };
tools[tool](words);
