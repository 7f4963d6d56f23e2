import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import type { ObjectRef } from '../../shared/client/client.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import type { Fault } from './report.ts'
import type { Stage } from './stage/stage.ts'
import { addWitness } from './verdict/witness.ts'
import type { Workload } from './workload.ts'

/** Describes a way in which a pod can die. */
export interface Way {
  name: string
  help: string
  /** Says whether the way affects one pod, or all pods of the node at once. */
  scope: 'pod' | 'node'
  /** Reason that the pod's hooks receive. */
  reason?: string
  /** The way is tried only on workloads for which this returns true. Absent: on all. */
  applies?(workload: Workload): boolean
  /** Changes the pod before it is created, as the way needs it. */
  prepare?(pod: Pod, stage: Stage): void
  /** Begins the deaths of the targets. Resolves when they have begun. */
  act(stage: Stage, targets: readonly Required<ObjectRef>[]): Promise<void>
  /** Restores the node when all targets have ended. */
  undo?(stage: Stage): Promise<void>
  /** Returns the grace period that the way gives. Absent: the pod's own. */
  graceSeconds?(own: number): number
  /** The pod has to run again afterwards. */
  restarts?: boolean
  /** Faults that this way can find. Absent: all. */
  judges?: readonly Fault[]
  /** Faults that count only as notes for this way. */
  mild?: 'all' | readonly Fault[]
  /** Names a similar way. A bad fault that the similar way found too counts here as a note. */
  like?: string
  /** Returns for how many seconds the pod hung, if the way is about hanging. */
  livenessDowntime?(workload: Workload, usedSeconds: number): number | undefined
  /** Tried only if a pod was killed at the end of its grace period; measures how long the pod would need. */
  measuresGrace?: boolean
}

const TAINT = 'rehearse.kubestage.dev/taint'
const ownProbe = ({ template }: Workload) => template.spec.containers.find((container) => container.livenessProbe)

const deleted =
  (reason?: string, gracePeriodSeconds?: number): Way['act'] =>
  async ({ client }, targets) => {
    await Promise.all(targets.map((target) => client.delete(pods, target, { reason, gracePeriodSeconds })))
  }

/** Deletes each target with a grace period other than its own. */
const deletedWithin =
  (graceSeconds: (own: number, stage: Stage) => number, reason?: string): Way['act'] =>
  async (stage, targets) => {
    for (const target of targets) {
      const { spec } = await stage.client.get<Pod>(pods, target)
      const own = spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS
      await deleted(reason, graceSeconds(own, stage))(stage, [target])
    }
  }
const DEFAULT_GRACE_SECONDS = 30
/** Times the pod's own grace. */
const PATIENCE = 4
/** A kubelet needs so long to come back, by the machine's clock; in faster time a pod would end before that. */
const RESTART_SECONDS = 3

export const ways: readonly Way[] = [
  { name: 'delete', help: 'deleted, without a reason', scope: 'pod', act: deleted() },
  { name: 'update', help: 'deleted, with the reason Update', scope: 'pod', reason: 'Update', act: deleted('Update') },
  {
    name: 'decommissioned',
    help: 'deleted, with the reason Decommissioned',
    scope: 'pod',
    reason: 'Decommissioned',
    act: deleted('Decommissioned'),
  },
  {
    name: 'eviction',
    help: 'evicted through the API, as by kubectl drain',
    scope: 'pod',
    reason: 'Eviction',
    async act(stage, targets) {
      for (const target of targets) await stage.evict(target)
    },
  },
  {
    name: 'deadline',
    help: 'its activeDeadlineSeconds are over',
    scope: 'pod',
    async act({ client }, targets) {
      for (const target of targets) await client.patch(pods, target, { spec: { activeDeadlineSeconds: 1 } })
    },
  },
  {
    name: 'liveness',
    help: 'its liveness probe fails, and it is restarted',
    scope: 'pod',
    restarts: true,
    prepare({ metadata, spec }, { sickbay }) {
      const container = spec.containers.find(({ livenessProbe }) => livenessProbe) ?? spec.containers[0]
      if (!container) return
      const terminationGracePeriodSeconds = container.livenessProbe?.terminationGracePeriodSeconds
      const httpGet = sickbay.probeOf(metadata.name ?? '')
      container.livenessProbe = {
        httpGet,
        periodSeconds: 1,
        failureThreshold: 1,
        timeoutSeconds: 5,
        terminationGracePeriodSeconds,
      }
    },
    async act({ sickbay }, targets) {
      for (const { name } of targets) sickbay.fallIll(name)
    },
    mild: ['exits-143', 'exits-non-zero', 'stops-too-soon', 'cuts-requests', 'slow-stop'],
    livenessDowntime(workload, usedSeconds) {
      const probe = ownProbe(workload)?.livenessProbe
      return probe && (probe.failureThreshold ?? 3) * (probe.periodSeconds ?? 10) + usedSeconds
    },
  },
  {
    name: 'short-grace',
    help: 'deleted with a tenth of its grace',
    scope: 'pod',
    act: deletedWithin((own) => Math.max(1, Math.floor(own / 10))),
    mild: 'all',
  },
  {
    name: 'force',
    help: 'deleted with --force: gone from the API at once',
    scope: 'pod',
    act: deleted(undefined, 0),
    mild: 'all',
  },
  {
    name: 'children',
    help: 'deleted, to see whether processes that it started outlive it',
    scope: 'pod',
    applies: ({ template }) => !template.spec.hostPID,
    prepare: addWitness,
    // The container that looks for what is left needs a second of its own.
    act: deletedWithin((own, { clock }) => own + Math.ceil(clock.scale)),
    judges: ['leaves-children'],
  },
  {
    name: 'patience',
    help: 'deleted with four times its grace (where that was not enough)',
    scope: 'pod',
    measuresGrace: true,
    act: deletedWithin((own) => PATIENCE * own),
    graceSeconds: (own) => PATIENCE * own,
    judges: ['grace-too-short'],
  },
  {
    name: 'taint',
    help: 'its node gets a NoExecute taint',
    scope: 'node',
    reason: 'IntolerableTaint',
    applies: ({ template }) => !template.spec.tolerations?.some(({ key, operator }) => !key && operator === 'Exists'),
    act: (stage) => changeTaints(stage, (taints) => [...taints, { key: TAINT, effect: 'NoExecute' }]),
    undo: (stage) => changeTaints(stage, (taints) => taints.filter(({ key }) => key !== TAINT)),
  },
  {
    name: 'kubelet-restart',
    help: 'the kubelet is killed and comes back while the pod ends',
    scope: 'node',
    reason: 'Update',
    async act(stage, targets) {
      await deletedWithin((own, { clock }) => own + Math.ceil(RESTART_SECONDS * (clock.scale - 1)), 'Update')(
        stage,
        targets,
      )
      await stage.untilKilling(targets)
      await stage.restartKubelet()
    },
    graceSeconds: (own) => 2 * own,
    like: 'update',
    // The second kubelet sends no second TERM. The time and requests without a kubelet are not the pod's fault.
    // `update` covers both.
    mild: [
      'stops-too-soon',
      'cuts-requests',
      'no-term-handler',
      'shell-swallows-term',
      'ignores-term',
      'goes-on-after-term',
      'slow-stop',
      'hook-uses-most',
      'hook-overruns',
    ],
  },
  {
    name: 'shutdown',
    help: 'its node is shut down, within shutdownGracePeriod',
    scope: 'node',
    reason: 'Eviction',
    async act(stage) {
      await stage.askNode('shutdown')
      await stage.askNode('return')
    },
  },
]

type Taint = NonNullable<NonNullable<Node['spec']>['taints']>[number]

async function changeTaints({ client, nodeName }: Stage, change: (taints: Taint[]) => Taint[]): Promise<void> {
  for (;;) {
    const node = await client.get<Node>(nodes, { name: nodeName })
    node.spec = { ...node.spec, taints: change(node.spec?.taints ?? []) }
    try {
      await client.update(nodes, node)
      return
    } catch (error) {
      if (!isStatus(error, 'Conflict')) throw error
    }
  }
}
