import { clusterOptions } from '../../cluster/index.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { Undo } from '../../shared/concurrency/undo.ts'
import { nearest } from '../../shared/config/nearest.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import { duration, oneOf, texts } from '../../shared/config/option-types.ts'
import { configOption, resolveOptions } from '../../shared/config/resolve.ts'
import { command } from '../command.ts'
import { untilStopped } from '../process/signals.ts'
import type { Earlier } from './earlier.ts'
import { rehearseOptions } from './options.ts'
import { progressOn } from './progress.ts'
import { diesWell, type Report } from './report.ts'
import { ways } from './ways.ts'
import type { Workload } from './workload.ts'

const outputs = ['text', 'json', 'junit', 'markdown', 'html'] as const
type Render = (report: Report, earlier: readonly Earlier[]) => string
const formats: Record<(typeof outputs)[number], () => Promise<Render>> = {
  text: async () => (await import('./formats/text.ts')).textReport,
  json: async () => (await import('./formats/json.ts')).jsonReport,
  html: async () => (await import('./formats/html/page.ts')).htmlReport,
  junit: async () => (await import('./formats/junit.ts')).junitReport,
  markdown: async () => (await import('./formats/markdown.ts')).markdownReport,
}

const usage = '(FILE… | IMAGE | -- COMMAND…)'
const paths = { ...texts, placeholder: 'FILE' }
const width = Math.max(...ways.map(({ name }) => name.length))

export default command({
  purpose:
    'Runs a workload on a cluster of its own, and shuts it down in every way. Exit code 1 when it does not shut down cleanly.',
  usage,
  options: {
    config: configOption,
    ...rehearseOptions,
    timeScale: clusterOptions.timeScale,
    image: clusterOptions.image,
    imagePath: clusterOptions.imagePath,
    imageStopSignal: clusterOptions.imageStopSignal,
    isolation: clusterOptions.isolation,
    hostFiles: clusterOptions.hostFiles,
    shutdownGracePeriod: option(duration, { default: 30_000, help: 'How long pods have when their node is shut down' }),
    earlier: option(paths, {
      default: [],
      help: 'html: JSON reports to compare with; repeatable, and a pattern such as "reports/*.json"',
    }),
    output: option(oneOf(...outputs), { default: 'text', short: 'o', help: 'How to print' }),
  },
  notes: ['Ways:', ...ways.map(({ name, help }) => `  ${name.padEnd(width)}  ${help}`)],
  async run({ values, positionals, afterDashes }) {
    for (const name of values.ways) checkWay(name)
    if (values.load) checkLoad(values.load)
    if (values.earlier.length > 0 && values.output !== 'html') throw new UsageError('--earlier needs -o html')
    const { readEarlier } = await import('./earlier.ts')
    const earlier = await readEarlier(values.earlier)
    const { workloads, others } = await workloadsOf(positionals, afterDashes)
    for (const workload of workloads) {
      workload.load ??= values.load || undefined
      if (workload.load) checkLoad(workload.load)
    }
    const { values: defaults } = await resolveOptions(clusterOptions, { args: [], env: {} })
    const { image, imagePath, imageStopSignal, isolation, hostFiles, timeScale, shutdownGracePeriod } = values
    const own = { image, imagePath, imageStopSignal, isolation, hostFiles, shutdownGracePeriod }
    const [{ openStages }, { rehearse }] = await Promise.all([import('./stage/stages.ts'), import('./rehearse.ts')])
    const settings = { ...defaults, ...own }
    const stages = await openStages({ settings, clock: realClock, workloads, others, onLeftOut: tellLeftOut })
    await using ending = new Undo()
    ending.defer(stages.close)
    const time = new Date(realClock.now()).toISOString()
    const progress = progressOn(process.stderr)
    const rehearsed = rehearse({
      stages,
      timeScale,
      workloads,
      wanted: values.ways,
      thresholds: values,
      jobs: values.jobs,
      readyTimeoutMs: values.readyTimeout,
      endpointDelayMs: values.endpointDelay,
      realTimeLimit: values.realTimeLimit,
      onProgress: progress.tell,
    })
    const found = await Promise.race([rehearsed, untilStopped()]).finally(progress.end)
    if ('again' in found) {
      rehearsed.catch(() => {}) // its cluster goes
      return 130
    }
    const render = await formats[values.output]()
    process.stdout.write(render({ time, timeScale, workloads: found }, earlier))
    return found.every(diesWell) ? 0 : 1
  },
})

async function workloadsOf(positionals: readonly string[], afterDashes: readonly string[]) {
  const { isManifest, readManifests } = await import('./manifests.ts')
  const { simpleWorkload, sortObjects } = await import('./workload.ts')
  const named = positionals.slice(0, positionals.length - afterDashes.length)
  if (named.length === 0 && afterDashes.length === 0) throw new UsageError(`usage: kubestage rehearse ${usage}`)
  const images = named.filter((argument) => !isManifest(argument))
  if (images.length > 1 || (afterDashes.length > 0 && named.length > images.length))
    throw new UsageError(`usage: kubestage rehearse ${usage}`)
  if (images.length > 0 || afterDashes.length > 0) {
    const workloads: Workload[] = [
      simpleWorkload({ image: images[0], command: [...afterDashes], folder: process.cwd() }),
    ]
    return { workloads, others: [] }
  }
  const sorted = sortObjects(await readManifests(named))
  for (const { kind, metadata } of sorted.hooks)
    process.stderr.write(
      `kubestage: ${kind} ${metadata.name} is left out: hooks of a chart are not part of the application\n`,
    )
  if (sorted.workloads.length === 0) throw new UsageError(`${named.join(', ')}: no workloads found`)
  return sorted
}

function checkWay(name: string): void {
  if (ways.some((way) => way.name === name)) return
  const known = ways.map((way) => way.name)
  const near = nearest(name, known)
  throw new UsageError(`unknown way "${name}"; ${near ? `did you mean ${near}?` : `there are ${known.join(', ')}`}`)
}

function checkLoad(url: string): void {
  if (/^http:\/\//.test(url) && URL.canParse(url.replace('//:', '//pod:'))) return
  throw new UsageError(`load must be an address such as http://pod:8080/, not "${url}"`)
}

/** Kinds of which a chart brings objects, and the cluster elsewhere the definition. */
function tellLeftOut({ apiVersion, kind, metadata }: KubeObject): void {
  process.stderr.write(`kubestage: ${kind} ${metadata.name} is left out: ${apiVersion} ${kind} is not served here\n`)
}
