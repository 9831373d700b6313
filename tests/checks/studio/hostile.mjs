// Names that would do something in a page that takes them for markup, as a
// trace of the PyTorch profiler on stdout: ts-import makes a trace of it.
const names = [
  '<img src=x onerror="globalThis.hacked = 1">',
  '<script>globalThis.hacked = 1</script>',
  '</script><script>globalThis.hacked = 1</script>',
  '--></script><!-- <img src=x onerror=alert(1)>',
  'javascript:alert(1)//img',
  '${globalThis.hacked = 1} img',
  'img \u202egnp.evil\u202c \u2066x',
  '\u0000\u0007\u001b[31m img',
  `img ${'x'.repeat(100000)}`,
  'img \ud800 lone',
  // It is read as 60 KB, which are 180 KB as the text of a page: no byte of it
  // is UTF-8.
  `_Z1f800${'\uffff'.repeat(800)}${'S_'.repeat(75)}`,
  '_Z3imgv',
];
const events = names.map((name, i) => ({
  ph: 'X', cat: 'cpu_op', name, pid: 1, tid: i % 3, ts: i * 10,
  dur: i % 4 ? 5 : 1e15,
}));
events.push({ ph: 'M', name: 'thread_name', pid: 1, tid: 1, ts: 0,
  args: { name: names[0] } });
events.push({ ph: 'C', name: names[1], pid: 1, ts: 1, args: { value: 1e308 } });
const json = JSON.stringify({ schemaVersion: 1, traceEvents: events });
const bytes = Buffer.from(json);
// The three bytes of each U+FFFF become one that is not valid.
process.stdout.write(Buffer.from(bytes.toString('latin1')
  .replaceAll('\xef\xbf\xbf', '\xff'), 'latin1'));
