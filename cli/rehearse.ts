import { readFileSync } from 'node:fs'
import { realClock } from '../shared/clock/real-clock.ts'
import { ConfigError, option } from '../shared/config/option.ts'
import { duration, oneOf, text } from '../shared/config/option-types.ts'
import { configOption } from '../shared/config/resolve.ts'
import { clusterOptions } from './cluster-options.ts'
import { command } from './command.ts'

const formats = ['text', 'json', 'junit', 'markdown'] as const

export default command({
  purpose: 'Lets an application die in every way there is, and says how well it does: exit code 1 when it does not.',
  usage: 'FILE…',
  options: {
    config: configOption,
    ways: option(text, { default: '', help: 'Only these, with commas: see below' }),
    load: option(text, { default: '', help: 'URL to ask while it dies; http://:8080/ is the pod itself' }),
    endpointDelay: option(duration, {
      default: 1_000,
      help: 'How long clients need to learn that an endpoint is gone',
    }),
    readyTimeout: option(duration, { default: 30_000, help: 'How long it may take to become ready' }),
    command: option(text, { default: '', help: 'A command to rehearse, instead of files' }),
    timeScale: clusterOptions.timeScale,
    image: clusterOptions.image,
    imagePath: clusterOptions.imagePath,
    output: option(oneOf(...formats), { default: 'text', short: 'o', help: 'How to print' }),
  },
  notes: [
    'FILE holds pods, or what makes pods (Deployment, StatefulSet, DaemonSet, Job, CronJob), and what these need (ConfigMap, Secret, ServiceAccount).',
    'Ways: delete, update, evict, liveness, deadline, force, kubelet, taint, shutdown.',
  ],
  async run({ values, positionals: files }) {
    const { rehearse } = await import('../rehearse/rehearse.ts')
    const { report } = await import('../rehearse/report.ts')
    const { ways } = await import('../rehearse/ways.ts')
    const { readWorkloads, workloadOf } = await import('../rehearse/workload.ts')
    const { startCluster } = await import('../library/start-cluster.ts')
    const { createRestClient } = await import('../shared/client/rest-client.ts')

    const words = values.command.split(/\s+/).filter(Boolean)
    const workloads = [
      ...files.flatMap((file) => readWorkloads(file, read(file))),
      ...(words.length > 0 ? [workloadOf('command', words)] : []),
    ]
    if (workloads.length === 0) throw new ConfigError('nothing to rehearse: kubestage rehearse FILE…')
    const wanted = values.ways.split(',').filter(Boolean)
    const unknown = wanted.find((name) => !ways.some((way) => way.name === name))
    if (unknown)
      throw new ConfigError(`there is no way "${unknown}"; there are ${ways.map(({ name }) => name).join(', ')}`)
    const chosen = wanted.length === 0 ? ways : ways.filter(({ name }) => wanted.includes(name))

    const { timeScale: scale, image: images, imagePath: imagePaths } = values
    await using cluster = await startCluster({ time: scale, images, imagePaths, shutdownGracePeriod: '5m' })
    const client = createRestClient({ ...cluster.access, clock: realClock, userAgent: 'kubestage-rehearse' })
    try {
      const rehearsals = []
      for (const workload of workloads) {
        rehearsals.push(
          await rehearse(values.load ? { ...workload, load: values.load } : workload, {
            cluster,
            client,
            nodeName: 'node-1',
            ways: chosen,
            clock: realClock,
            scale,
            readyTimeoutMs: values.readyTimeout,
            endpointDelayMs: values.endpointDelay,
            onProgress: tellProgress,
          }),
        )
      }
      tellProgress('')
      process.stdout.write(report(rehearsals, values.output))
      return rehearsals.every(({ good }) => good) ? 0 : 1
    } finally {
      await client.close()
    }
  },
})

/** One line that the next one replaces, on a terminal alone. */
function tellProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${line}`)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(code === 'ENOENT' ? `${file}: no such file` : `${file}: cannot be read (${code})`)
  }
}
