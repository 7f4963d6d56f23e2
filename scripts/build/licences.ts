import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

/** Writes to `file` which packages have code in the bundle, each with its licence, as they ask for. */
export function writeLicences(file: string, outputs: Metafile['outputs']): void {
  const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs))
  const packages = new Set(inputs.flatMap((input) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []))
  const texts = [...packages].map(licenceOf).sort()
  writeFileSync(file, `What the programs in this folder contain of others.\n\n${texts.join('\n')}`)
}

/** A package without a text of its own has one in its description, or none but the name. */
function licenceOf(folder: string): string {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (!license) throw new Error(`${name} ${version} has no licence`)
  const text = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  const words = text ? readFileSync(join(folder, text), 'utf8').trim() : `By ${author?.name ?? author}.`
  return `${name} ${version}, ${license}\n\n${words}\n\n${'-'.repeat(80)}\n`
}
