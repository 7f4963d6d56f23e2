import type { Termination, TerminationStep } from '../../../shared/api/termination.ts'
import { parseTime, toMicroTime } from '../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, nameColumn, orNone, wide } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'

/** Wide enough for most reasons, and few enough for a table of 100 columns. */
const reasonWidth = 20
const askerWidth = 18

export const termination = resource<Termination>({
  group: 'kubestage.dev',
  kind: 'Termination',
  plural: 'terminations',
  namespaced: true,
  outlivesNamespace: true,
  shortNames: ['term'],
  schema: 'dev.kubestage.v1.Termination',
  columns: [
    nameColumn,
    column('Reason', 'Why, as the preStop hooks were told.'),
    column('Asked By', 'The user that asked for the deletion; without one, what made the kubelet stop a container.'),
    column('Verdict', 'What happened, in short.'),
    ageColumn,
    column('Cause', 'What made the kubelet stop the containers.', wide),
    column('Type', 'Kind of verdict, as the field selector verdict has it.', wide),
    column('Workload', 'Workload that the pod belonged to.', wide),
    column('Phase', 'Phase the pod ended in.', wide),
    column('Node', 'Node that the pod ran on.', wide),
    column('Lost', 'Requests to the pod that were lost.', wide),
    column('Details', 'What happened, and who asked for what reason, in full.', wide),
  ],
  cells,
  selectableFields: {
    podName: ({ podName }) => podName ?? '',
    podUID: ({ podUID }) => podUID ?? '',
    nodeName: ({ nodeName }) => nodeName ?? '',
    reason: ({ reason }) => reason ?? '',
    cause: ({ cause }) => cause ?? '',
    // The verdict's text has figures, so it is no field selector; its type is.
    verdict: ({ verdictType }) => verdictType ?? '',
    user: ({ requests }) => requests?.at(-1)?.user ?? '',
    workload: ({ workload }) => workload ?? '',
  },
  strategy: {
    prepareForCreate(object, { deletionRequests, endpointRemovals }) {
      object.requests = deletionRequests?.of(object.podUID ?? '')
      object.steps = endpointStep(object, endpointRemovals?.of(object.podUID ?? ''))
    },
    prepareForUpdate(object, old) {
      object.requests = old.requests
      object.steps = old.steps
    },
  },
  example: {
    metadata: { name: 'web.mi8jzgk0' },
    podName: 'web',
    podUID: '0a67c2f5-8a53-4ab3-a1c5-ea7ad3a0b8d1',
    nodeName: 'node-1',
    workload: 'Deployment/web',
    verdict: 'stopped in 0.4 s of 30 s',
    verdictType: 'Stopped',
    reason: 'Update',
    cause: 'PodDeleted',
    gracePeriodSeconds: 30,
    used: '412ms',
    phase: 'Succeeded',
    containers: [
      {
        name: 'main',
        verdict: 'stopped in 0.4 s of 30 s',
        gracePeriodSeconds: 30,
        used: '412ms',
        exitCode: 0,
        steps: [],
      },
    ],
  },
})

/** Returns the step that took the pod out of its Services: only those after the first request for its end count. */
function endpointStep(
  { requests, startTime }: Termination,
  removal: { atMs: number; from: string } | undefined,
): TerminationStep[] | undefined {
  const begin = requests?.[0]?.time ?? startTime
  if (!removal || !begin || removal.atMs < parseTime(begin)) return undefined
  const [from, to] = [parseTime(begin), removal.atMs].map(toMicroTime)
  return [{ name: 'EndpointRemoved', startTime: from!, endTime: to, message: removal.from }]
}

function cells(object: Termination, nowMs: number): unknown[] {
  const { metadata, reason, requests, verdict = '', cause, phase, nodeName } = object
  const asker = requests?.at(-1)?.user
  // The kubelet, unasked: then the cause says it.
  const blamed = asker ?? cause
  return [
    metadata.name,
    orNone(reason && shortened(reason, reasonWidth)),
    // `system:kube-controller-manager`: what they have in common tells nothing.
    orNone(blamed && shortened(blamed.replace(/^system:(kube-)?/, ''), askerWidth)),
    // What follows the first comma or semicolon explains it.
    verdict.replace(/[,;].*/s, ''),
    age(metadata.creationTimestamp, nowMs),
    cause ?? '',
    object.verdictType ?? '',
    object.workload ?? '',
    phase ?? '',
    nodeName ?? '',
    (object.lostRequests ?? []).map(({ kind, count }) => `${count} ${kind}`).join(', '),
    [verdict, asker && `asked by ${asker}`, reason && `reason: ${reason}`].filter(Boolean).join('; '),
  ]
}

const shortened = (text: string, width: number): string => (text.length > width ? `${text.slice(0, width - 1)}…` : text)
