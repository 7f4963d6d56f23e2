import type { Addition } from './addition.ts'
import { resourceMetrics } from './resource-metrics.ts'
import { terminationRecord } from './termination-record.ts'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const core = 'io.k8s.api.core.v1'

/** Lists all additions that are merged into the generated data. */
export const additions: Addition[] = [
  {
    type: `${meta}.DeleteOptions`,
    fields: {
      reason: {
        go: 'Reason',
        shape: '*string',
        goType: 'string',
        description:
          'Why the object is deleted, handed to the preStop hooks of a pod. Well-known values are Eviction, IntolerableTaint, Decommissioned and Update; any text of 1 to 1,024 bytes without control characters is allowed.',
      },
    },
  },
  {
    type: `${meta}.ObjectMeta`,
    fields: {
      reason: {
        go: 'TerminationReason',
        shape: '*string',
        goType: 'string',
        description: 'Why the object was deleted, as given with the delete request. Set by the server only. Read-only.',
      },
    },
  },
  {
    type: `${core}.TerminationReasonDelivery`,
    description: 'How a preStop hook is told why its pod terminates. Exactly one member may be set.',
    fields: {
      env: {
        go: 'Env',
        shape: '*string',
        goType: 'string',
        description: 'Environment variable of an exec hook that holds the reason. Defaults to KUBE_POD_TERM_REASON.',
      },
      header: {
        go: 'Header',
        shape: '*string',
        goType: 'string',
        description: 'HTTP header of an httpGet hook that holds the reason. Defaults to KUBE-POD-TERM-REASON.',
      },
    },
  },
  {
    type: `${core}.PreStopHandler`,
    extends: `${core}.LifecycleHandler`,
    description: 'PreStopHandler is a LifecycleHandler that can also be told why the pod terminates.',
    fields: {
      reasonDelivery: {
        go: 'ReasonDelivery',
        shape: `*@${core}.TerminationReasonDelivery`,
        goType: 'v1.TerminationReasonDelivery',
        description: 'How the reason of the termination is delivered to this hook.',
      },
    },
  },
  ...terminationRecord,
  ...resourceMetrics,
]

/** Fields whose type is replaced by an added one: [type, field, new type]. */
export const replacements: [type: string, field: string, by: string][] = [
  [`${core}.Lifecycle`, 'preStop', `${core}.PreStopHandler`],
]
