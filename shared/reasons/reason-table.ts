/**
 * This table says which component ends pods in which situation, and which reason their hooks get. Controllers, API
 * server and kubelet take their reasons from it by `reasonFor`; docs/reasons.md prints it (scripts/reasons-table.ts);
 * test/library/reasons.test.ts plays each row on a cluster.
 *
 * The reasons are those of the Pod Termination Reason proposal, by its definitions: `Decommissioned` if a pod will not
 * be replaced, `Update` if a pod of another version replaces it. If neither holds, the table has nothing, or a reason
 * of Kubestage's own.
 */

/** Explains what each reason means. */
export const reasons = {
  Decommissioned: 'Fewer pods are wanted: this one is not replaced.',
  Update: 'A pod of another version replaces this one.',
  Eviction: 'The pod has to leave its node. Its controller makes another, of the same version.',
  IntolerableTaint: 'The node has a NoExecute taint that the pod does not tolerate, or no longer tolerates.',
  Suspended: 'The work stops for now: a pod with the same work is made later. Not in the proposal.',
} as const

export type ReasonName = keyof typeof reasons

/** Marks a reason that was read from the table: only `reasonFor` makes one. */
declare const fromTable: unique symbol
export type Reason = ReasonName & { readonly [fromTable]: true }

/** Nothing is told: preStop hooks run without the variable and the header. */
const nothing = null
/** The pods are told what their owner's deletion was given; nothing, where it was given nothing. */
const ownersReason = { of: 'owner' } as const
/** The reason in the request; nothing, where it has none. */
const requestsReason = { of: 'request' } as const

type Told = ReasonName | typeof nothing | typeof ownersReason | typeof requestsReason
/** `note`: what a reader may wonder about; Markdown. */
export type Cell = readonly [told: Told, note?: string]

export const reasonTable = {
  Deployment: {
    'scaled down': ['Decommissioned'],
    'scaled down in the middle of a rollout': ['Decommissioned', 'old and new pods alike; the rollout continues'],
    'scaled down while paused': ['Decommissioned'],
    'template changed, RollingUpdate': ['Update'],
    'template changed, Recreate': ['Update'],
    'rollout undone, RollingUpdate': ['Update'],
    'rollout undone, Recreate': ['Update'],
    'rollout that never gets ready is undone': ['Update', 'its pods make room for the earlier version'],
    'template changed and scaled down in one write: pods beyond the new size': ['Decommissioned'],
    'template changed and scaled down in one write: the other pods': ['Update'],
    paused: [nothing, 'no pod is deleted'],
    deleted: [ownersReason, 'background and foreground'],
    'deleted in the middle of a rollout': [ownersReason],
    'deleted, dependents orphaned': [nothing, 'no pod is deleted'],
  },
  ReplicaSet: {
    'scaled down': ['Decommissioned'],
    'more pods than wanted': ['Decommissioned', 'for instance an orphan that the selector matches'],
    'template changed': [nothing, 'no pod is deleted'],
    'scaled down by hand, under a Deployment': [nothing, 'the Deployment scales it up again'],
    deleted: [ownersReason],
    'deleted by hand, under a Deployment': [ownersReason, 'the Deployment makes another ReplicaSet'],
  },
  ReplicationController: {
    'scaled down': ['Decommissioned'],
    deleted: [ownersReason],
  },
  StatefulSet: {
    'scaled down': ['Decommissioned'],
    'scaled down in the middle of an update': ['Decommissioned'],
    'first ordinal raised': ['Decommissioned', '`spec.ordinals.start`: the lowest pods leave'],
    'template changed, RollingUpdate': ['Update'],
    'update undone': ['Update'],
    'template changed and scaled down in one write: pods beyond the new size': ['Decommissioned'],
    'template changed and scaled down in one write: the other pods': ['Update'],
    'template changed, OnDelete': [nothing, 'the controller deletes no pod; the client that does may give a reason'],
    deleted: [ownersReason],
  },
  DaemonSet: {
    'node no longer selected': ['Decommissioned', "the node's labels changed"],
    'template no longer selects the node': ['Decommissioned'],
    'second pod on a node': ['Decommissioned'],
    'NoExecute taint not tolerated': ['IntolerableTaint'],
    'template changed, RollingUpdate': ['Update'],
    'template changed, with maxSurge': ['Update'],
    'update undone': ['Update'],
    'template changed, OnDelete': [nothing, 'the controller deletes no pod; the client that does may give a reason'],
    deleted: [ownersReason],
  },
  Job: {
    suspended: ['Suspended', 'resuming makes its pods again'],
    'parallelism lowered': ['Decommissioned'],
    'parallelism lowered, Indexed': ['Suspended', 'the index runs again later'],
    'completions lowered, Indexed': ['Decommissioned', 'the index is no longer wanted'],
    'activeDeadlineSeconds exceeded': [nothing],
    'backoffLimit exceeded': [nothing],
    'podFailurePolicy FailJob': [nothing],
    'successPolicy met': [nothing],
    completed: [nothing, 'its containers have ended: no hook runs'],
    'ttlSecondsAfterFinished over': [nothing, 'its containers have ended: no hook runs'],
    deleted: [ownersReason],
  },
  CronJob: {
    suspended: [nothing, 'no pod is deleted'],
    'concurrencyPolicy Replace': [nothing, 'the next run is the same version'],
    deleted: [ownersReason],
  },
  Namespace: {
    deleted: [ownersReason],
  },
  Pod: {
    deleted: [requestsReason],
    evicted: ['Eviction', 'the eviction subresource (`kubectl drain`)'],
    'activeDeadlineSeconds exceeded': [nothing],
    'a probe fails, or a postStart hook': [nothing, 'the container restarts in its pod'],
  },
  Node: {
    'NoExecute taint not tolerated': ['IntolerableTaint'],
    'tolerationSeconds over': ['IntolerableTaint'],
    'not ready, or unreachable': ['IntolerableTaint', 'by the taints of its conditions'],
    'NoSchedule taint, or cordoned': [nothing, 'no pod is deleted'],
    deleted: [nothing, 'the pods are removed at once: no kubelet is left to run hooks'],
  },
  kubelet: {
    'node pressure': ['Eviction'],
    'local storage limit exceeded': ['Eviction'],
    'node shutdown': ['Eviction', "with the shutdown's message in the pod's status"],
    'preempted by a critical pod': ['Eviction'],
  },
  scheduler: {
    preemption: ['Eviction', 'for a pod of a higher priority'],
  },
} as const satisfies Record<string, Record<string, Cell>>

type Table = typeof reasonTable
export type Who = keyof Table
export type Situation<W extends Who> = keyof Table[W] & string

/** Returns the reason of a situation; undefined if the table has none, or leaves it to the owner or the request. */
export function reasonFor<W extends Who>(who: W, situation: Situation<W>): Reason | undefined {
  const [told] = reasonTable[who][situation] as Cell
  return typeof told === 'string' ? (told as Reason) : undefined
}

export interface Row {
  who: Who
  situation: string
  told: Told
  note?: string
}

export const reasonRows = (): Row[] =>
  Object.entries(reasonTable).flatMap(([who, cells]) =>
    Object.entries<Cell>(cells).map(([situation, [told, note]]) => ({ who: who as Who, situation, told, note })),
  )
