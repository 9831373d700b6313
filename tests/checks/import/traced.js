// A program for Node.js to trace: files, marks, work on several threads.
const fs = require('fs');
const { performance } = require('perf_hooks');
const { Worker, isMainThread } = require('worker_threads');

for (let i = 0; i < 20; i++) fs.readFileSync(__filename);
performance.mark('read');
fs.readFile(__filename, () => performance.measure('reading', 'read'));
if (isMainThread) new Worker(__filename);
