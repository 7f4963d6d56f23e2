// Loaded by `node --import` before a server: one line of one of its sources is another (bugs.ts). PLANTED_BUG holds {file, line, instead} as
// JSON. A line that is not there, or there twice, ends the server.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { file, line, instead } = JSON.parse(process.env.PLANTED_BUG)
const target = pathToFileURL(join(import.meta.dirname, '../../..', file)).href

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    return url === target ? { ...loaded, source: planted(`${loaded.source}`) } : loaded
  },
})

function planted(source) {
  const lines = source.split('\n')
  const found = lines.flatMap((text, index) => (text.trim() === line ? [index] : []))
  if (found.length !== 1) throw new Error(`${file} has ${found.length} lines ${line}`)
  lines[found[0]] = instead
  return lines.join('\n')
}
