/** This file writes Prometheus' text format, version 0.0.4. */

export interface Sample {
  /** Follows the family's name in a histogram. */
  suffix?: string
  labels?: Readonly<Record<string, string>>
  value: number
  /** Unix milliseconds; only where the value is older than the answer may be. */
  timestampMs?: number
}

export interface Family {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  samples: readonly Sample[]
}

export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Sorted by name, labels too, as client_golang writes them. A family without samples is left out. */
export const exposition = (families: readonly Family[]): string =>
  families
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(linesOf)
    .map((line) => `${line}\n`)
    .join('')

function linesOf({ name, type, help, samples }: Family): string[] {
  if (samples.length === 0) return []
  const lines = samples.map(
    ({ suffix = '', labels, value, timestampMs }) =>
      `${name}${suffix}${labelText(labels)} ${value}${timestampMs === undefined ? '' : ` ${timestampMs}`}`,
  )
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}

function labelText(labels: Sample['labels']): string {
  const names = Object.keys(labels ?? {}).sort()
  return names.length > 0 ? `{${names.map((name) => `${name}="${escaped(labels![name]!)}"`).join(',')}}` : ''
}

const escaped = (value: string): string => value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))

/** `counts`: what fell into each bucket, not added up. */
export function histogramLines(
  {
    labels,
    counts,
    sum,
    total,
  }: { labels: Readonly<Record<string, string>>; counts: readonly number[]; sum: number; total: number },
  buckets: readonly number[],
): Sample[] {
  let below = 0
  return [
    ...buckets.map((limit, index): Sample => {
      below += counts[index] ?? 0
      return { suffix: '_bucket', labels: { ...labels, le: String(limit) }, value: below }
    }),
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: total },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: total },
  ]
}
