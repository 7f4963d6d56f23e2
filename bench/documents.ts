import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { writeCharts } from './charts/charts.ts'
import { options } from './options.ts'

/** What a figure was measured on. */
export const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
export const busy = (): string => `load average at the end ${loadavg()[0]?.toFixed(1)}`

/** Sections of docs/performance.md and docs/scale.md. */
const documents = {
  bench: 'performance.md',
  real: 'performance.md',
  http2: 'performance.md',
  ui: 'performance.md',
  etcd: 'scale.md',
  growth: 'scale.md',
  'scale-etcd': 'scale.md',
} as const
export type Section = keyof typeof documents

function writeDocument(section: Section, text: string): void {
  const file = join(import.meta.dirname, '../docs', documents[section])
  const [before, after] = [`<!-- ${section}: begin -->`, `<!-- ${section}: end -->`]
  const document = readFileSync(file, 'utf8')
  const head = document.slice(0, document.indexOf(before) + before.length)
  writeFileSync(file, `${head}\n${text}\n${document.slice(document.indexOf(after))}`)
  writeCharts(join(import.meta.dirname, '../docs'), section)
}

/** Prints a section and, with `--write`, puts it into its page. */
export function show(section: Section, text: string): void {
  process.stdout.write(`${text}\n`)
  if (options.write) writeDocument(section, text)
}
