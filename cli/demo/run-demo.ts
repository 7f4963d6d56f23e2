import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCluster } from '../../cluster/cluster.ts'
import { clusterOptions } from '../../cluster/settings.ts'
import type { Pod } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { Deadline } from './deadline.ts'
import { exampleManifest } from './manifest.ts'
import { createNarrator, type Narrator } from './narrator.ts'
import { Story } from './story.ts'

export interface DemoOptions {
  /** Holds the pod's YAML; by default the example's. */
  manifest?: string
  /** Limits the demo from the cluster's start on. Usually it needs a sixth of this. */
  timeoutMs?: number
  narrator?: Narrator
}

const defaultTimeoutMs = 60_000

/**
 * Runs the demo on a cluster of its own. Resolves to whether every step succeeded; if not, the narrator has said why.
 */
export async function runDemo(options: DemoOptions = {}): Promise<boolean> {
  const { timeoutMs = defaultTimeoutMs, narrator = createNarrator(realClock) } = options
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-demo-'))
  try {
    const { values } = await resolveOptions(clusterOptions, { args: [], env: {} })
    const { load } = await import('js-yaml')
    const pod = load(options.manifest ?? (await exampleManifest())) as Pod
    const settings = { ...values, stateDir, port: 0 }
    const cluster = await runCluster({ settings, clock: realClock, onTrouble: narrator.aside })
    try {
      return await Story.tell({ cluster, narrator, pod, deadline: new Deadline(realClock, timeoutMs) })
    } finally {
      await cluster.stop()
    }
  } finally {
    rmSync(stateDir, { recursive: true, force: true })
  }
}
