/** Plays a subject on one node and records what clients of the API see. */
import { setTimeout as wait } from 'node:timers/promises'
import type { ContainerStatus, Event, Pod, WatchEvent } from '../../../shared/api/types.ts'
import { pods } from '../../../shared/client/resources.ts'
import { namespace, type PodNode } from './node.ts'
import type { Deed, Moment, Subject } from './subject.ts'

export interface Recording {
  /** What the server answered to the creation and to each deed: an error's text, or nothing. */
  answers: string[]
  changes: { atMs: number; change: WatchEvent<Pod> }[]
  events: { atMs: number; event: Event }[]
}

/** After this time a deed happens although its moment has not come. */
const patienceMs = 7_000
/** What follows the last change of an object that is gone: its last events, and of a forced deletion the whole end. */
const tailMs = { ended: 1_500, forced: 6_000 }
/** How long one node may take for what the other did in time. */
export const slackMs = (untilSeconds: number): number => 4_000 + untilSeconds * 100

const statusesOf = ({ status }: Pod): ContainerStatus[] => [
  ...(status?.containerStatuses ?? []),
  ...(status?.initContainerStatuses ?? []),
]

const hasCome: Record<Moment, (pod: Pod) => boolean> = {
  created: () => true,
  deed: () => true,
  started: (pod) =>
    statusesOf(pod).some(({ state, restartCount }) => state?.running || state?.terminated || restartCount),
  running: ({ status }) => status?.phase !== undefined && status.phase !== 'Pending',
  ready: ({ status }) => status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false,
  exited: (pod) => statusesOf(pod).some(({ state, lastState }) => state?.terminated || lastState?.terminated),
}

export async function play(subject: Subject, node: PodNode, name: string): Promise<Recording> {
  const recording: Recording = { answers: [], changes: [], events: [] }
  const start = performance.now()
  const now = (): number => Math.round(performance.now() - start)
  let latest: Pod | undefined
  let isGone = false
  const stop = node.listen(name, {
    pod(change) {
      recording.changes.push({ atMs: now(), change })
      latest = change.object
      isGone = change.type === 'DELETED'
    },
    event: (event) => recording.events.push({ atMs: now(), event }),
  })
  const until = async (condition: () => boolean, deadlineMs: number): Promise<void> => {
    while (!condition() && !isGone && now() < deadlineMs) await wait(20)
  }
  const answered = async (request: Promise<unknown>): Promise<void> => {
    recording.answers.push(
      await request.then(
        () => '',
        (error: unknown) => plainAnswer(String(error), name),
      ),
    )
  }
  const { metadata, spec } = subject.pod
  const pod = { metadata: { ...metadata, name }, spec: { ...spec, nodeName: node.name } }
  try {
    await answered(node.client.create(pods, pod as Pod, { namespace }))
    if (recording.answers[0]) return recording
    for (const deed of subject.deeds) {
      await until(() => latest !== undefined && hasCome[deed.after](latest), now() + patienceMs)
      await wait(deed.seconds * 1000)
      if (!isGone) await answered(perform(deed, node, name))
    }
    await until(() => false, subject.untilSeconds * 1000 + slackMs(subject.untilSeconds))
    if (isGone) await wait(hasEnded(latest) ? tailMs.ended : tailMs.forced)
    return recording
  } finally {
    stop()
    if (!isGone) await node.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 }).catch(() => {})
  }
}

const hasEnded = (pod?: Pod): boolean => ['Succeeded', 'Failed'].includes(pod?.status?.phase ?? '')

const plainAnswer = (text: string, name: string): string => text.replaceAll(name, '<pod>').slice(0, 300)

function perform(deed: Deed, { client }: PodNode, name: string): Promise<unknown> {
  const ref = { namespace, name }
  if (deed.delete) return client.delete(pods, ref, deed.delete)
  if (deed.evict) {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: ref, deleteOptions: deed.evict }
    return client.create(pods, eviction, { ...ref, subresource: 'eviction' })
  }
  return client.patch(pods, ref, deed.patch, { type: 'strategic', subresource: deed.subresource })
}
