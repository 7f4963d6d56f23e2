/** A page in Prometheus' text format; throws where a line of it is none. */
export interface Metrics {
  /** Of the one series of `name` that has these labels, among others. */
  value(name: string, labels?: Record<string, string>): number | undefined
  help(name: string): string | undefined
  /** Of families, sorted as they came. */
  names: string[]
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: (\d+))?$/s
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/gy

export function parseMetrics(page: string): Metrics {
  const samples: { name: string; labels: Record<string, string>; value: number }[] = []
  const helps = new Map<string, string>()
  const names: string[] = []
  for (const line of page.split('\n').slice(0, -1)) {
    const [, kind, family = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/s.exec(line) ?? []
    if (kind === 'HELP') helps.set(family, rest)
    else if (kind === 'TYPE') names.push(family)
    else samples.push(sampleOf(line))
  }
  return {
    names,
    help: (name) => helps.get(name),
    value: (name, labels = {}) =>
      samples.find(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )?.value,
  }
}

function sampleOf(line: string) {
  const [, name = '', text = '', value = ''] = sampleLine.exec(line) ?? []
  const labels = Object.fromEntries([...text.matchAll(labelPattern)].map(([, label, value]) => [label!, plain(value!)]))
  const length = [...text.matchAll(labelPattern)].reduce((sum, [all]) => sum + all.length, 0)
  if (!name || length !== text.length) throw new Error(`not a sample: ${line}`)
  return { name, labels, value: Number(value === '+Inf' ? Infinity : value) }
}

const plain = (value: string): string => value.replace(/\\([\\"n])/g, (_, char) => (char === 'n' ? '\n' : char))
