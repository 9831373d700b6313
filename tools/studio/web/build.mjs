// Makes ../page/studio.html, one file with everything in it but a trace:
//   node build.mjs studio.wasm THIRD-PARTY studio.html
// The same sources and versions give the same bytes.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const [wasm, notices, page] = process.argv.slice(2);
const source = (name) => new URL(`src/${name}`, import.meta.url);

async function bundle(name, plugins = []) {
  const result = await build({
    entryPoints: [source(name).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    charset: 'ascii',
    legalComments: 'none', // they are in THIRD-PARTY
    logLevel: 'warning',
    plugins,
  });
  return result.outputFiles[0].text.trim();
}

function hash(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

// A script must not end early, and only Perl would think of $ in a replacement.
function put(html, name, text) {
  return html.split(`@${name}@`).join(text);
}

const worker = await bundle('worker.ts');
const script = (
  await bundle('main.ts', [
    {
      name: 'worker',
      setup(b) {
        b.onResolve({ filter: /^worker$/ }, () => ({
          path: 'worker',
          namespace: 'text',
        }));
        b.onLoad({ filter: /.*/, namespace: 'text' }, () => ({
          contents: worker,
          loader: 'text',
        }));
      },
    },
  ])
).replaceAll('</script', '<\\/script');
const style = readFileSync(source('style.css'), 'utf8')
  .replace(/\s+/g, ' ')
  .trim();
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  'worker-src blob:',
  'img-src data:',
  // ts-studio allows 'self' in the page that it serves.
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

let html = readFileSync(source('index.html'), 'utf8');
html = put(html, 'NOTICES', readFileSync(notices, 'utf8'));
html = put(html, 'CSP', policy);
html = put(html, 'STYLE', style);
html = put(html, 'SCRIPT', script);
html = put(html, 'MODULE', readFileSync(wasm).toString('base64'));
html = html.replace('<!--@TRACE@-->\n', '<!--TRACE-->\n');
writeFileSync(page, html);
