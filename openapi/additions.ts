import { terminationRecord } from './termination-record.ts'

/**
 * What this project's API has beyond Kubernetes': the Pod Termination Reason proposal, and the record of a termination.
 * Written as schema fragments with Go facts beside them, merged into the generated data.
 */
export interface Addition {
  /** OpenAPI name of the type that is added, or gets fields. */
  type: string
  /** For a new type: the type whose fields it has besides its own. */
  extends?: string
  description?: string
  /** For a kind of its own: what it is called in the API. */
  kind?: { group: string; version: string; kind: string }
  fields: Record<string, AddedField>
}
export interface AddedField {
  go: string
  /** As in input/go-types.json: `*` pointer, `[]` list, `{}` map, then a scalar or `@` and a type. */
  shape: string
  /** Go type as the decoder's errors print it. */
  goType: string
  description: string
}

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const core = 'io.k8s.api.core.v1'

export const additions: Addition[] = [
  {
    type: `${meta}.DeleteOptions`,
    fields: {
      reason: {
        go: 'Reason',
        shape: 'string',
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
        shape: 'string',
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
        shape: 'string',
        goType: 'string',
        description: 'Environment variable of an exec hook that holds the reason. Defaults to KUBE_POD_TERM_REASON.',
      },
      header: {
        go: 'Header',
        shape: 'string',
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
]

/** Fields whose type is replaced by an added one: [type, field, new type]. */
export const replacements: [type: string, field: string, by: string][] = [
  [`${core}.Lifecycle`, 'preStop', `${core}.PreStopHandler`],
]
