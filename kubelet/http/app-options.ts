import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NodeTime } from '../node/node-time.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { Images } from '../runtime/images/images.ts'
import type { Reviews } from './access.ts'
import type { ControlledNode } from './control-node.ts'
import type { ErrorLog } from './error-handler.ts'
import type { MetricsSources } from './metrics/pages.ts'

export interface KubeletAppOptions {
  runtime: ContainerRuntime
  /** Holds the images; absent if no programs are run. */
  images?: Images
  clock: Clock
  log: ErrorLog
  /** Returns the pods as the API shows them. */
  pods(): Pod[]
  node?(): ControlledNode | undefined
  time?: NodeTime
  /** Asked about every client that is no administrator. */
  reviews(): Promise<Reviews>
  /** Holds the sources of metrics; without them there are no such pages. */
  metrics?: MetricsSources
  configz?(port: number): object
}
