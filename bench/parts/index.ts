import { measureAudit } from '../audit.ts'
import { rounds } from '../options.ts'
import type { Row } from '../report.ts'
import {
  measureAggregatedRequests,
  measureManyPods,
  measurePolicedCreates,
  measureServer,
  measureStart,
} from './api.ts'
import { measureDns, measureHooks, measureProbes, measureServices } from './node.ts'
import { measureIsolations, measureLevelRows, measureMany, measureNetworkPods, measureSimulated } from './pods.ts'

interface Part {
  /** What `--only` calls it. One server serves those that are measured together. */
  names: readonly string[]
  measure(): Promise<Row[]>
}

/** The rows of docs/performance.md's first table, in its order. */
export const parts: readonly Part[] = [
  { names: ['start'], measure: measureStart },
  { names: ['requests', 'list', 'watch'], measure: measureServer },
  { names: ['policies'], measure: measurePolicedCreates },
  { names: ['audit'], measure: () => measureAudit(rounds) },
  { names: ['aggregation'], measure: measureAggregatedRequests },
  { names: ['memory'], measure: measureManyPods },
  { names: ['pods'], measure: measureIsolations },
  { names: ['levels'], measure: measureLevelRows },
  { names: ['simulated'], measure: measureSimulated },
  { names: ['many'], measure: measureMany },
  { names: ['hooks'], measure: measureHooks },
  { names: ['probes'], measure: measureProbes },
  { names: ['network'], measure: measureServices },
  { names: ['network'], measure: measureNetworkPods },
  { names: ['network'], measure: measureDns },
]
