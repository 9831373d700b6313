// Each sentence that a tool can print (a heading, a legend, a warning, an
// error) is expected by a test, or stands in sentences-not-asserted.list with a
// reason. Prints those that do neither, and what is listed in vain; with --all
// all that no test expects.
//   node tests/cli/sentences-asserted.mjs [--all]
// A sentence is a string of at least two words in the code of tools. A test
// expects it if a file of expected output or a string of a test has it, with
// something that fits in each of its holes; or if a test looks for four words
// of it. Whole outputs are compared, so that it is also expected to be absent
// from all others.
import { readFileSync, readdirSync } from 'node:fs';

const files = (folder, ends) => readdirSync(folder, { recursive: true })
    .filter((name) => ends.some((end) => name.endsWith(end)))
    .map((name) => `${folder}/${name}`);
const read = (path) => readFileSync(path, 'utf8');
// What the checks run: not what needs a GPU, and no fuzzer.
const tests = (ends) => files('tests', ends)
    .filter((path) => !/^tests\/(gpu|fuzz)\//.test(path));

// ---- Literals of C ---------------------------------------------------------

const HOLE = '\0'; // stands for a macro's text within a literal
const tokens = new RegExp([
    /\/\*[^]*?\*\//, /\/\/[^\n]*/, /#\s*include[^\n]*/, // left out
    /'(?:\\.|[^'\\\n])*'/, /"(?:\\.|[^"\\\n])*"/, /[A-Za-z_]\w*/, /\\\n/, /\S/
].map((one) => one.source).join('|'), 'g');
const escapes = { n: '\n', t: '\t', r: '\r', 0: '', b: '\b', f: '\f' };

function plain(literal) {
    return literal.slice(1, -1).replace(
        /\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{1,2})|\\([0-3]?[0-7]{1,2}|.)/g,
        (all, u, x, c) => u || x ? String.fromCharCode(parseInt(u || x, 16))
            : /^[0-7]{2,3}$/.test(c) ? '\x1b' : escapes[c] ?? c);
}

// The singular and the plural of one sentence: one of them is enough.
const string = '\\s*"((?:\\\\.|[^"\\\\\n])*)"';
const counted = new RegExp(`cli_counted\\([^;]*?,${string},${string}\\)`, 'g');
const chosen = new RegExp(`(?:[=!]= 1|> 1)\\s*\\?${string}\\s*:${string}`, 'g');
const forms = new Map();
const pairs = (text) => {
    for (const pattern of [counted, chosen])
        for (const [, one, many] of text.matchAll(pattern))
            forms.set(one, many).set(many, one);
};

// The string literals of C, those beside each other as one.
function literals(text) {
    const found = [];
    let one = null, macro = false, line = 1, at = 0;
    for (const match of text.matchAll(tokens)) {
        const [token] = match;
        for (; at < match.index; at++) if (text[at] === '\n') line++;
        if (/^(\/[*/]|#\s*include|\\\n)/.test(token)) continue;
        if (token[0] === '"') {
            const more = plain(token);
            if (one) one.text += (macro ? HOLE : '') + more;
            else found.push(one = { text: more, line });
            macro = false;
        } else if (one && /^[A-Z]\w+$/.test(token)) {
            macro = true; // "..." PRIu64 "..."
            if (/^PRI/.test(token)) { one.text += 'd'; macro = false; }
        } else {
            one = null;
            macro = false;
        }
    }
    return found;
}

// ---- What is printed -------------------------------------------------------

const conversions = new RegExp("%%|%[-+ #0']*(?:\\d+|\\*)?" +
    '(?:\\.(?:\\d+|\\*)?)?(?:hh|h|ll|l|z|j|t)?([a-zA-Z])|\\0', 'g');

// The constant parts of a format, and between them the kinds of its holes.
function parts(format) {
    const constant = [''], holes = [];
    let at = 0;
    const add = (text) => { constant[constant.length - 1] += text; };
    for (const match of format.matchAll(conversions)) {
        add(format.slice(at, match.index));
        at = match.index + match[0].length;
        if (match[0] === '%%') { add('%'); continue; }
        holes.push(match[1] ?? 's');
        constant.push('');
    }
    add(format.slice(at));
    return { constant, holes };
}

const spaces = (text) => text.replace(/\s+/g, ' ');

// Whether what stands in a hole may have been printed there.
const numbers = /^ *(?:[-+]?[\d.,]+|%[-\w.*]+|\$\{[^}]*\}|0x[\da-f]+)$/;
const fits = (hole, text) => hole !== 'd' || numbers.test(text);
const MOST = 200; // characters of a hole

// Whether the parts from `i` on continue at `at` of a text.
function continues(text, { constant, holes }, i, at) {
    if (i === constant.length) return true;
    const part = constant[i];
    for (let to = at; (to = text.indexOf(part, to)) >= 0; to++) {
        if (to - at > MOST) return false;
        if (fits(holes[i - 1], text.slice(at, to)) &&
            continues(text, { constant, holes }, i + 1, to + part.length))
            return true;
        if (!part) return to - at <= MOST; // a hole at the end
    }
    return false;
}

// Code that tools write, in C, HTML, SQL and so on, is run by tests.
const isCode = (text) =>
    /[;{}]\s*\n|\n\s*}|\};|^\s*(static|typedef|extern|\.section|:root|\*\{) ?/
        .test(text) ||
    /\{\}$|\bNULL\b|\n#include/.test(text) ||
    /^[\s(]*(SELECT|CREATE|INSERT|PRAGMA|WITH|DROP|UPDATE|DELETE) /
        .test(text) || /^(ATTACH|DETACH) /.test(text) ||
    /\b(FROM|AS|WHERE|JOIN) \w+|%Q|"\/>|<\w+ |querySelector/.test(text) ||
    /\bCASE WHEN|\bis not null\b|\bcoalesce\(/i.test(text);
const isSentence = (text) => !isCode(text) &&
    /[A-Za-z]{2,},? [A-Za-z(]{2,}/.test(text.replace(conversions, '\0'));

// Whether the parts up to `i` end at `at`.
function precedes(text, { constant, holes }, i, at) {
    if (i < 0) return true;
    const part = constant[i];
    for (let from = at - part.length; ; from--) {
        from = text.lastIndexOf(part, from);
        const end = from + part.length;
        if (from < 0 || at - end > MOST) return false;
        if (!part && !i) return true;
        if (fits(holes[i], text.slice(end, at)) &&
            precedes(text, { constant, holes }, i - 1, from)) return true;
        if (!from) return false;
    }
}

// ---- What tests expect -----------------------------------------------------

// Whole outputs and whole strings; and pieces that a test looks for: of four
// words at least.
const expected = [], pieces = new Set();
const piece = (text) => {
    for (const one of spaces(text).split(/\.\*|\.\+|\[\^?[^\]]*\][+*]|[$^\n]/))
        if (/^[^A-Za-z]*([A-Za-z]\S* ){3}/.test(one)) pieces.add(one.trim());
};
// Within a string of JSON, quotes are escaped.
for (const path of tests(['.out', '.err', '.txt']))
    expected.push(read(path).replace(/\\+"/g, '"'));
for (const path of tests(['.c', '.h']))
    for (const { text } of literals(read(path))) {
        expected.push(text);
        piece(text);
    }
for (const path of tests(['.sh', '.test', '.mjs'])) {
    const text = read(path).replace(/(^|\s)(#|\/\/) .*/g, '')
        .replace(/(['"`]) \+\s*\1/g, '').replace(/\\(["'.\[\]$`(])/g, '$1');
    expected.push(text);
    for (const [, one] of text.matchAll(/'([^'\n]*)'/g)) piece(one);
    for (const [, one] of text.matchAll(/"([^"\n]*)"/g)) piece(one);
    for (const [, one] of text.matchAll(/`([^`\n]*)`/g)) piece(one);
}
const corpus = expected.map(spaces).join('\n');

// The longest part is found first, the others around it.
function asserted(format) {
    const { constant, holes } = parts(spaces(format).trim());
    const size = (i) => constant[i].length;
    const longest = constant.reduce((l, _, i) => size(i) > size(l) ? i : l, 0);
    const part = constant[longest];
    for (let at = -1; (at = corpus.indexOf(part, at + 1)) >= 0;) {
        if (!continues(corpus, { constant, holes }, longest + 1,
            at + part.length)) continue;
        if (precedes(corpus, { constant, holes }, longest - 1, at)) return true;
    }
    for (const one of pieces)
        if (constant.some((part) => part.includes(one))) return true;
    return false;
}

// ---- What is not asserted --------------------------------------------------

// A line of the list is PATH "SENTENCE"; those with # say why.
const list = 'tests/cli/sentences-not-asserted.list';
const listed = new Set(read(list).split('\n')
    .filter((line) => line && !line.startsWith('#')));
const all = new Set(), missing = new Set(), wrong = [];
const sources = files('tools', ['.c', '.h']).sort();
for (const path of sources) pairs(read(path));
for (const path of sources)
    for (const { text, line } of literals(read(path))) {
        if (!isSentence(text)) continue;
        const entry = `${path} ${JSON.stringify(text)}`;
        all.add(entry);
        if (asserted(text) || forms.has(text) && asserted(forms.get(text)))
            continue;
        missing.add(entry);
        if (!listed.has(entry))
            wrong.push(`${path}:${line}: no test expects ` +
                JSON.stringify(text));
    }
for (const entry of listed)
    if (!all.has(entry)) wrong.push(`${list}: no tool says ${entry}`);
    else if (!missing.has(entry))
        wrong.push(`${list}: a test expects ${entry}`);
if (process.argv[2] === '--all')
    console.log([...missing].join('\n') +
        `\n${missing.size} of ${all.size} sentences`);
else if (wrong.length) console.log(wrong.join('\n'));
if (all.size < 2000) console.log(`only ${all.size} sentences were found`);
process.exit(wrong.length || all.size < 2000 ? 1 : 0);
