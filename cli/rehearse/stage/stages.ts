import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClusterSettings } from '../../../cluster/index.ts'
import { runCluster } from '../../../cluster/index.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { Undo } from '../../../shared/concurrency/undo.ts'
import type { Workload } from '../workload.ts'
import { setStage } from './set-stage.ts'
import { openSickbay, type Sickbay } from './sickbay.ts'
import { openStage, type Stage } from './stage.ts'

export interface StagesOptions {
  /** Holds the settings of each cluster, except its pace and its folder. */
  settings: Omit<ClusterSettings, 'stateDir' | 'port' | 'timeScale'>
  /** Holds the machine's clock. */
  clock: Clock
  workloads: readonly Workload[]
  /** Objects that the cluster gets beside the workloads. */
  others: readonly KubeObject[]
  onLeftOut(object: KubeObject): void
}

/** Provides the clusters of a rehearsal, at most one at a time. */
export interface Stages {
  /**
   * Resolves to a stage whose time is `timeScale` times faster than the machine's: the current cluster if its scale is
   * the same, else a new one. The current cluster is stopped before another starts.
   */
  at(timeScale: number): Promise<Stage>
  /** Kills the current cluster, after its start if it is starting. Later calls of `at` reject. */
  close(): Promise<void>
}

export async function openStages(options: StagesOptions): Promise<Stages> {
  const ending = new Undo()
  const sickbay = await openSickbay()
  ending.defer(sickbay.close)
  let current: Promise<Open> | undefined
  let isClosed = false
  let { onLeftOut } = options
  const next = async (before: Promise<Open> | undefined, timeScale: number): Promise<Open> => {
    const last = await before
    if (last?.stage.clock.scale === timeScale) return last
    await last?.stop()
    if (isClosed) throw new Error('the rehearsal is over')
    const opened = await open(options, { timeScale, sickbay, onLeftOut })
    onLeftOut = () => {} // it is the same again
    return opened
  }
  return {
    async at(timeScale) {
      current = next(current, timeScale)
      return (await current).stage
    },
    async close() {
      isClosed = true
      const last = await current?.catch(() => undefined)
      await last?.kill()
      await ending.run()
    },
  }
}

interface Open {
  stage: Stage
  stop(): Promise<void>
  kill(): Promise<void>
}

async function open(
  { settings, clock, workloads, others }: StagesOptions,
  { timeScale, sickbay, onLeftOut }: Pick<StagesOptions, 'onLeftOut'> & { timeScale: number; sickbay: Sickbay },
): Promise<Open> {
  await using starting = new Undo()
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-rehearse-'))
  starting.defer(() => rmSync(stateDir, { recursive: true, force: true }))
  const own = { ...settings, timeScale, stateDir, port: 0 }
  const cluster = await runCluster({ settings: own, clock, onTrouble: () => {} })
  let end = cluster.kill
  starting.defer(() => end())
  await setStage(cluster, others, { workloads, onLeftOut })
  const stage = await openStage(cluster, { nodeName: settings.nodeName, sickbay })
  starting.defer(stage.close)
  const running = starting.move()
  return {
    stage,
    stop() {
      end = cluster.stop
      return running.run()
    },
    kill: () => running.run(),
  }
}
