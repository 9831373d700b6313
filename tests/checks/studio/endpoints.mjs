// The server of ts-studio answers its own page only, and within limits; what it
// cannot do it says in a sentence.
//   node endpoints.mjs TS-STUDIO TRACE OTHER FOLDER
// FOLDER: for a copy of ts-studio that has no other tools beside it.
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync,
  readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';

const [studio, trace, other, folder] = process.argv.slice(2);
const servers = [];

// Starts a server, and returns how to ask it.
async function serve(program, files, environment = {}) {
  const server = spawn(program, ['--no-browser', '--no-report', ...files], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  servers.push(server);
  const address = await new Promise((done, failed) => {
    let text = '';
    server.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) done(new URL(text.trim()));
    });
    server.on('exit', (code) => failed(new Error(`it ended: ${code}`)));
  });
  const token = address.hash.slice('#token='.length);
  const ask = (path, body, headers = {}) => new Promise((done, failed) => {
    const r = request({
      host: '127.0.0.1', port: address.port, path,
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'X-Studio-Token': token, ...headers },
    }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => done({ status: answer.statusCode,
        version: answer.headers.etag, bytes: Buffer.concat(parts), text: Buffer.concat(parts).toString() }));
    });
    r.on('error', failed);
    r.end(body);
  });
  const ended = new Promise((done) => server.on('exit', done));
  return { ask, port: address.port, alive: () => server.exitCode === null,
    kill: (signal) => (server.kill(signal), ended) };
}

let failed = 0;
function same(what, got, expected) {
  if (got === expected) return;
  console.log(`${what}: ${got}, not ${expected}`);
  failed++;
}

async function expect(server, path, body, status, text, headers) {
  const answer = await server.ask(path, body, headers);
  const what = `${path} ${String(body).slice(0, 60)}`;
  same(what, answer.status, status);
  if (text !== undefined && !answer.text.includes(text))
    same(what, answer.text.slice(0, 300), text);
  return answer;
}

const endless = 'sql\nWITH RECURSIVE a(x) AS (SELECT 1 UNION ALL ' +
  'SELECT x + 1 FROM a) SELECT count(*) FROM a';

async function refuses(server) {
  for (const [path, body] of [['/about'], ['/notes'], ['/ask', ''],
    ['/ask2', ''], ['/notes', ''], ['/task', 'races'], ['/cancel', ''],
    ['/capture'], ['/capture', 'start']]) {
    await expect(server, path, body, 403, 'lacks its token',
      { 'X-Studio-Token': '0'.repeat(32) });
    await expect(server, path, body, 403, 'not from here', { Host: 'evil' });
    await expect(server, path, body, 403, 'not from here',
      { Origin: 'http://evil' });
  }
  const large = Buffer.alloc((1 << 20) + 1, 'x');
  await expect(server, '/ask', large, 413, 'too large');
  await expect(server, '/ask2', large, 413, 'too large');
  await expect(server, '/task', large, 413, 'too large');
  await expect(server, '/notes', large, 409, 'too large');
  await expect(server, '/nothing', '', 404, 'no such thing');
  // No recording runs.
  await expect(server, '/capture', undefined, 404, 'no such thing');
  await expect(server, '/capture', 'start', 404, 'no such thing');
}

async function runs(server) {
  const rows = JSON.parse((await expect(server, '/task',
    'sql\nSELECT count(*) AS n FROM gpu_op', 200)).text);
  same('SQL counts', rows.results[0].rows[0].n > 0, true);
  await expect(server, '/task', 'csv\nSELECT 1 AS a, 2 AS b', 200, 'a,b');
  await expect(server, '/task', 'sql\nDELETE FROM gpu_op', 422,
    'may not be modified');
  await expect(server, '/task', 'sql\nCREATE TEMP TABLE t(a)', 422);
  await expect(server, '/task', "sql\nATTACH '/tmp/x' AS y", 422);
  await expect(server, '/task', 'sql\nSELECT hex(randomblob(30000)) AS h ' +
    'FROM gpu_op a, gpu_op b, gpu_op c, gpu_op d, gpu_op e', 422,
  'the result is larger than 32 MiB');
  await expect(server, '/task', endless, 422, 'it took longer than 1 s',
    { 'X-Studio-Seconds': '1' });
  await expect(server, '/task', 'diff', 200, '"answers"');
  await expect(server, '/task', 'verify', 200, '"matched"');
  for (const steps of ['steps', 'steps2'])
    await expect(server, '/task', steps, 200, '"steps"');
  const part = await expect(server, '/task', 'cut 0 1000000000', 200);
  same('a part is a trace', part.bytes.subarray(0, 3).toString('latin1'),
    'SBT');
  const perfetto = await expect(server, '/task', 'perfetto 0 1000000000', 200);
  same('a part for Perfetto', perfetto.bytes.length > 100, true);
  for (const range of ['cut', 'cut 5 1', 'cut -5 1', 'cut 1 2; rm', 'cut a b'])
    await expect(server, '/task', range, 422);
  await expect(server, '/task', 'cut 5 1', 422, 'this is no range of times');
  await expect(server, '/task', 'execute', 422, 'no operation was captured');
  await expect(server, '/task', 'rm -r /', 422, 'no such thing');
}

// One task at a time; questions are answered meanwhile; a task is cancelled.
async function cancels(server) {
  const running = server.ask('/task', endless);
  let busy;
  do busy = await server.ask('/task', 'races'); while (busy.status !== 409);
  same('a second task', busy.text, 'another task is running: cancel it first');
  await expect(server, '/ask', 'xx', 200);
  await expect(server, '/cancel', '', 200);
  const answer = await running;
  same('the task', `${answer.status} ${answer.text}`, '422 cancelled');
}

// Whatever is sent, the server answers and lives.
async function fuzz(server) {
  let seed = 1;
  const random = (n) => {
    seed = Math.imul(seed, 1103515245) + 12345 >>> 0;
    return (seed >>> 8) % n;
  };
  const words = ['sql', 'csv', 'cut', 'perfetto', 'diff2', '\n', ' ', '\0', '-1',
    '99999999999999999999', 'SELECT', '*', 'FROM', 'zone', "'", '(', '{\n',
    '"studio_notes": 1,\n', '\xff', 'TSQ\x02'];
  for (let i = 0; i < 300; i++) {
    let body = '';
    for (let k = random(12); k >= 0; k--) body += words[random(words.length)];
    const path = ['/task', '/notes', '/ask2', '/ask', '/cancel'][random(5)];
    const { status } = await server.ask(path, Buffer.from(body, 'latin1'),
      { 'X-Studio-Seconds': '1' });
    if (![200, 404, 409, 422].includes(status))
      same(`${path} ${JSON.stringify(body)}`, status, 'an answer');
  }
  same('the server lives', server.alive(), true);
}

// Strangers that connect and say nothing, or ever so little, keep nobody out,
// and are closed.
async function crowd(server) {
  const { port } = server;
  let open = 0;
  const sockets = [];
  for (let i = 0; i < 200; i++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('connect', () => open++);
    socket.on('close', () => open--);
    sockets.push(socket);
  }
  const drips = setInterval(() => sockets.forEach((socket, i) =>
    i % 2 && socket.writable && socket.write('G')), 100);
  const start = Date.now();
  for (let i = 0; i < 20; i++)
    await expect(server, '/about', undefined, 200, '"', { Connection: 'close' });
  same('answered at once', Date.now() - start < 5000, true);
  clearInterval(drips);
  // A second without a word; servers look once a second, too.
  for (let i = 0; i < 100 && open; i++)
    await new Promise((done) => setTimeout(done, 100));
  same('open connections of strangers', open, 0);
}

// A copy of ts-studio, beside which a script stands for another tool.
function alone(tool, script) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'tmp'), { recursive: true });
  const program = join(folder, 'ts-studio');
  copyFileSync(studio, program);
  chmodSync(program, 0o755);
  writeFileSync(join(folder, tool), `#!/bin/sh\n${script}\n`,
    { mode: 0o755 });
  return program;
}

async function until(what, ready) {
  for (let i = 0; !ready(); i++) {
    if (i > 200) return same(what, 'never', 'soon');
    await new Promise((again) => setTimeout(again, 50));
  }
}

function runs_still(pid) {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !/\) Z/.test(readFileSync(stat, 'latin1'));
}

// A tool ends with its server, whatever ends that; and leaves no file.
async function ends() {
  const left = join(folder, 'tmp'), pid_file = join(folder, 'pid');
  const slow = `: >"$6.part"; echo $$ >${pid_file}; exec sleep 60`;
  const begin = async () => {
    const server = await serve(alone('ts-cut', slow), [trace],
      { TMPDIR: left });
    const answer = server.ask('/task', 'cut 0 1').catch(() => undefined);
    await until('a tool runs', () => existsSync(pid_file) &&
      readFileSync(pid_file, 'latin1').endsWith('\n'));
    return { server, answer, pid: Number(readFileSync(pid_file, 'latin1')) };
  };
  for (const signal of ['SIGHUP', 'SIGQUIT', 'SIGTERM', 'SIGKILL']) {
    const { server, pid } = await begin();
    same(`${signal} ends it`, await server.kill(signal),
      signal === 'SIGKILL' ? null : 0);
    await until(`${signal} ends its tool`, () => !runs_still(pid));
    if (signal === 'SIGKILL') continue;
    same(`left after ${signal}`, readdirSync(left).join(), '');
  }
  const { server, answer, pid } = await begin();
  await expect(server, '/cancel', '', 200);
  same('a cancelled export', (await answer).text, 'cancelled');
  same('it has ended', runs_still(pid), false);
  same('left after a cancel', readdirSync(left).join(), '');
}

// What a tool writes is limited; a tool reads the trace that is shown.
async function limits() {
  const program = alone('ts-replay', 'cat /proc/self/limits');
  const copy = join(folder, 'copy.sbt');
  copyFileSync(trace, copy);
  const server = await serve(program, [copy]);
  const { text } = await expect(server, '/task', 'races', 200);
  same('bytes of a file', /Max file size +(\d+)/.exec(text)?.[1],
    `${1 << 30}`);
  renameSync(copy, `${copy}.old`);
  copyFileSync(trace, copy);
  for (const task of ['races', 'sql\nSELECT 1'])
    await expect(server, '/task', task, 409,
      'the trace was replaced or removed since it was opened');
}

// Notes replace those that were read only.
async function keeps() {
  const file = join(folder, 'noted.sbt');
  const program = alone('ts-diff', '');
  copyFileSync(trace, file);
  const server = await serve(program, [file]);
  const notes = (text) => '{\n "studio_notes": 1,\n "notes": [{"from": 0, ' +
    `"to": 0, "text": "${text}"}]\n}\n`;
  const none = await expect(server, '/notes', undefined, 200, '');
  const elsewhere = 'they were changed elsewhere: reload the page';
  await expect(server, '/notes', notes('unread'), 409, elsewhere);
  const first = await expect(server, '/notes', notes('first'), 200, '',
    { 'If-Match': none.version });
  await expect(server, '/notes', notes('late'), 409, elsewhere,
    { 'If-Match': none.version });
  await expect(server, '/notes', notes('second'), 200, '',
    { 'If-Match': first.version });
  await expect(server, '/notes', undefined, 200, 'second');
}

// A folder is one trace: notes are kept beside it, and the file that its traces
// were merged into goes with the server.
async function merges() {
  const program = alone('ts-cut', 'exit 1');
  const job = join(folder, 'job'), left = join(folder, 'tmp');
  mkdirSync(job);
  copyFileSync(trace, join(job, 'rank0.sbt'));
  copyFileSync(other, join(job, 'rank1.sbt'));
  const server = await serve(program, [`${job}/`], { TMPDIR: left });
  await expect(server, '/about', undefined, 200, '"job.sbt"');
  const processes = JSON.parse((await expect(server, '/task', 'sql\n' +
    "SELECT count(*) AS n FROM metadata WHERE key = 'merge.part'", 200)).text);
  same('processes', processes.results[0].rows[0].n, 2);
  const none = await expect(server, '/notes', undefined, 200, '');
  await expect(server, '/notes', '{\n "studio_notes": 1,\n "notes": []\n}\n',
    200, '', { 'If-Match': none.version });
  same('its notes', existsSync(`${job}.notes.json`), true);
  same('merged', readdirSync(left).length, 1);
  await server.kill('SIGTERM');
  same('left of a merge', readdirSync(left).join(), '');
}

// Names of differences are those of boxes, which the page marks.
async function names() {
  const program = alone('ts-diff', 'echo "$*"');
  for (const mangled of [false, true]) {
    const server = await serve(program,
      [...mangled ? ['--mangled'] : [], trace, other]);
    const { text } = await expect(server, '/task', 'diff', 200, '--json');
    same('names of differences', text.includes('--mangled'), mangled);
  }
}

// Without its other tools, and without a folder for files.
async function lacks() {
  const server = await serve(alone('ts-replay', 'exit 9'), [trace],
    { TMPDIR: '/nowhere' });
  await expect(server, '/task', 'steps', 422,
    'ts-analyze is not beside ts-studio');
  await expect(server, '/task', 'races', 422, 'the tool ended early');
  await expect(server, '/task', 'cut 0 1', 422,
    'no temporary folder can be made');
  for (const what of ['diff', 'verify', 'steps2'])
    await expect(server, '/task', what, 422,
      'there is no second trace to compare');
  await expect(server, '/ask2', 'x', 404, 'no such thing');
}

try {
  const server = await serve(studio, [trace, other]);
  await refuses(server);
  await runs(server);
  await cancels(server);
  await fuzz(server);
  await crowd(server);
  await lacks();
  await ends();
  await limits();
  await merges();
  await names();
  await keeps();
} finally {
  for (const server of servers) server.kill();
}
process.exit(failed ? 1 : 0);
