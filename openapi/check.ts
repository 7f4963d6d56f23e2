/** Exit 1 when `data/` is not what `generate.ts` makes of `input/`. */
import { readFileSync } from 'node:fs'
import { generate } from './generate.ts'

const stale = Object.entries(generate())
  .filter(([name, text]) => readFileSync(new URL(`data/${name}`, import.meta.url), 'utf8') !== text)
  .map(([name]) => name)
if (stale.length > 0) {
  console.error(`openapi/data/ is stale (${stale.join(', ')}): run \`node openapi/generate.ts\` and commit the result`)
  process.exitCode = 1
}
