// Whether a page of ts-analyze works under its own Content-Security-Policy:
// its one style and its one script have the hashes that the policy names, and
// nothing in it needs more.
//
// node page.mjs PAGE
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const page = readFileSync(process.argv[2], 'utf8');
let failures = 0;

function check(ok, what) {
    if (ok) return;
    console.log(what);
    failures++;
}

function hash(element) {
    const all = [...page.matchAll(
        new RegExp(`<${element}>([^]*?)</${element}>`, 'g'))];
    check(all.length === 1, `${all.length} elements ${element}, not 1`);
    const digest = createHash('sha256').update(all[0]?.[1] ?? '');
    return `'sha256-${digest.digest('base64')}'`;
}

const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)"/
    .exec(page)?.[1] ?? 'none';
const wanted = "default-src 'none'; base-uri 'none'; form-action 'none'; " +
    `style-src ${hash('style')}; script-src ${hash('script')}`;
check(policy === wanted, `the policy is\n${policy}\nnot\n${wanted}`);
check(page.indexOf('Content-Security-Policy') < page.indexOf('<style'),
      'the policy comes after what it is for');

// Tags alone: what a trace calls "onclick=" is text.
for (const [tag] of page.replace(/<(style|script)>[^]*?<\/\1>/g, '')
    .matchAll(/<[a-z][^>]*>/g)) {
    for (const [, name, value] of tag.matchAll(/\s([\w-]+)="([^"]*)"/g)) {
        check(!/^(style|on.*|src|srcset|action|data|background)$/.test(name),
              `not allowed: ${name} in ${tag}`);
        check(name !== 'href' || value.startsWith('#'),
              `leads out of the page: ${tag}`);
    }
    check(!/^<(base|form|frame|iframe|img|link|object)\b/.test(tag),
          `not allowed: ${tag}`);
}
process.exit(failures ? 1 : 0);
