import os from 'node:os'
import type { Pod } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { exposition, type Family } from '../../../shared/metrics/exposition.ts'
import { gauge } from '../../../shared/metrics/series.ts'
import { processStart } from '../../../shared/metrics/standard-families.ts'
import type { KubeletMetrics } from '../../metrics/kubelet-metrics.ts'
import type { ContainerRuntime } from '../../runtime/container-runtime.ts'
import { NodeMeter } from '../../stats/node-meter.ts'
import type { Summary } from '../../stats/summary.ts'
import { cadvisorFamilies } from './cadvisor-page.ts'
import { kubeletFamilies } from './kubelet-page.ts'
import { resourceFamilies } from './resource-page.ts'

export interface MetricsSources {
  metrics: KubeletMetrics
  limits: { families(): Family[] }
  nodeName: string
  rootDir: string
  featureGates: FeatureGates
}

export interface PagesOptions extends MetricsSources {
  runtime: ContainerRuntime
  clock: Clock
  pods(): Pod[]
}

/**
 * Serves the metrics and statistics of a node. The first request creates the pages; nothing is measured between
 * requests.
 */
export class MetricsPages {
  readonly #options: PagesOptions
  readonly #meter: NodeMeter
  readonly #startSeconds: number
  #measuring: Promise<Summary> | undefined

  constructor(options: PagesOptions) {
    const { machine } = options.clock
    this.#options = options
    this.#meter = new NodeMeter(options)
    this.#startSeconds = Math.round(machine.now() / 1000 - process.uptime())
  }

  /** `/stats/summary`. Requests at the same time share one walk through /proc. */
  summary(): Promise<Summary> {
    this.#measuring ??= this.#meter.summary().finally(() => {
      this.#measuring = undefined
    })
    return this.#measuring
  }

  /** Below `/metrics`: nothing, `probes`, `resource` or `cadvisor`; undefined: there is no such page. */
  async page(name: string | undefined): Promise<string | undefined> {
    const families = await this.#families(name)
    return families && exposition(families)
  }

  async #families(name: string | undefined): Promise<Family[] | undefined> {
    const { pods, clock, metrics } = this.#options
    switch (name) {
      case undefined:
        return kubeletFamilies({ ...this.#options, pods: pods(), startSeconds: this.#startSeconds })
      case 'probes':
        return [processStart(this.#startSeconds), ...metrics.probes.families()]
      case 'resource':
        return this.summary().then(
          (summary) => resourceFamilies(summary, clock.machine.now()),
          () => [scrapeError],
        )
      case 'cadvisor': {
        const machine = { cpus: os.availableParallelism(), memoryBytes: os.totalmem() }
        return cadvisorFamilies(await this.summary(), { pods: pods(), machine, atMs: clock.machine.now() })
      }
    }
    return undefined
  }
}

const scrapeError = gauge(
  'resource_scrape_error',
  '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
  1,
)
