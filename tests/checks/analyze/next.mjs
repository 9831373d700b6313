// The commands to go on with are the same in all forms of a report:
// node next.mjs TEXT JSON PAGE
import { readFileSync } from 'node:fs'

const [text, json, page] = process.argv.slice(2)
    .map(name => readFileSync(name, 'utf8'))
const { next } = JSON.parse(json)
const printed = text.slice(text.lastIndexOf('\nNext\n') + 6).trim()
    .split('\n  ').filter(line => !line.startsWith('  '))
    .map(line => line.trim())
const shown = [...page.matchAll(/<dt><code>(.*?)<\/code>/g)].map(match =>
    match[1].replace(/&#39;/g, "'").replace(/&lt;/g, '<')
        .replace(/&gt;/g, '>').replace(/&amp;/g, '&'))
const said = next.map(one => one.command)
const same = (a, b) => a.join('\n') === b.join('\n')
const ok = said.length > 3 && next.every(one => one.purpose) &&
    same(said, printed) && same(said.slice(1), shown)
if (!ok) console.error(said, printed, shown)
process.exit(ok ? 0 : 1)
