import { addLoss, type LossRun } from './losses.ts'
import type { Death, Load, PodStory } from './model.ts'
import type { Story } from './story.ts'

/** Names the pod that most likely lost requests, why, and what to change. */
export interface Blame {
  pod?: PodStory
  target: string
  startMs: number
  lost: number
  cut: number
  why: string
  remedy: string
}

/** Tolerance between the interval of a load and the end of a pod, which different clocks and processes report. */
const slackMs = 1_000

/** Returns the intervals in which requests were lost. */
const badLoads = ({ loads }: Story): Load[] => loads.filter(({ lost, cut }) => lost + cut > 0)

/** Sums up all lost requests; returns undefined if there were none. */
export function lossesOf(story: Story): LossRun | undefined {
  const [first, ...rest] = badLoads(story)
  if (!first) return undefined
  const { lost, cut, startMs, endMs } = first
  const all = { lost, cut, startMs, endMs }
  for (const load of rest) {
    all.lost += load.lost
    all.cut += load.cut
    all.startMs = Math.min(all.startMs, load.startMs)
    all.endMs = Math.max(all.endMs, load.endMs)
  }
  return all
}

/** Returns the lost requests of each pod, sorted by time, keyed by the pod's UID. */
export function lossRuns(story: Story): Map<string, LossRun[]> {
  const runs = new Map<string, LossRun[]>()
  const bad = badLoads(story)
  if (!bad.length) return runs
  const ended = endedPods(story)
  for (const load of bad.sort((a, b) => a.startMs - b.startMs)) {
    const pod = culprit(story, load, ended)
    if (!pod) continue
    const known = runs.get(pod.uid) ?? []
    runs.set(pod.uid, known)
    addLoss(known, load)
  }
  return runs
}

/** Returns for how many milliseconds requests were lost after no Service offered any of the blamed pods. */
export function newsLagMs(blamed: readonly Blame[], { endMs }: LossRun): number {
  const removed = blamed.flatMap(({ pod }) => pod?.endpointRemovedMs ?? [])
  return removed.length ? Math.max(endMs - Math.max(...removed), 0) : 0
}

/** Returns an entry for each pod that lost requests, the worst first. */
export function blames(story: Story): Blame[] {
  const found = new Map<string, Blame>()
  const ended = endedPods(story)
  for (const load of badLoads(story)) {
    const pod = culprit(story, load, ended)
    const key = pod?.uid ?? load.target
    const known = found.get(key)
    if (known) {
      known.lost += load.lost
      known.cut += load.cut
    } else
      found.set(key, { pod, target: load.target, startMs: load.startMs, lost: load.lost, cut: load.cut, ...whyOf(pod) })
  }
  return [...found.values()].sort((a, b) => b.lost + b.cut - a.lost - a.cut)
}

interface EndedPod {
  pod: PodStory
  /** The time from which on the pod may not have answered. */
  startMs: number
}

const endedPods = (story: Story): EndedPod[] =>
  [...story.pods.values()].flatMap((pod) => {
    const startMs = unavailableMs(pod)
    return startMs === undefined ? [] : [{ pod, startMs }]
  })

/** Returns the target pod, or else the pod whose processes ended nearest to the interval. */
function culprit(story: Story, load: Load, ended: readonly EndedPod[]): PodStory | undefined {
  const [kind, name = ''] = load.target.split('/')
  if (kind === 'pod') return (load.uid && story.pods.get(load.uid)) || story.podNamed(load.namespace, name)
  let best: PodStory | undefined
  let bestMs = slackMs
  for (const { pod, startMs } of ended) {
    if (pod.namespace !== load.namespace || (kind === 'service' && !pod.services.has(name))) continue
    const endMs = Math.max(pod.endpointRemovedMs ?? startMs, startMs)
    const distanceMs = Math.max(startMs - load.endMs, load.startMs - endMs, 0)
    if (distanceMs < bestMs) [best, bestMs] = [pod, distanceMs]
  }
  return best
}

/** Returns when the pod may have stopped answering: at TERM, or when its processes ended. */
function unavailableMs(pod: PodStory): number | undefined {
  const segments = pod.deaths.at(-1)?.containers.flatMap((container) => container.segments) ?? []
  return segments.find(({ kind }) => kind === 'term')?.startMs ?? pod.processEndMs
}

const sleepHook = 'Add a preStop hook that waits, such as sleep: {seconds: 5}, so that it serves until clients know.'

/** Proxies and clients may send to a removed address for this long. */
const newsMs = 5_000

const hasHook = (death: Death | undefined): boolean =>
  death?.containers.some(({ segments }) => segments.some(({ kind }) => kind === 'hook')) ?? false

function whyOf(pod: PodStory | undefined): { why: string; remedy: string } {
  if (!pod)
    return {
      why: 'no pod ended near that time',
      remedy: 'Look at readiness, restarts and the application in this interval.',
    }
  const { processEndMs, endpointRemovedMs } = pod
  const death = pod.deaths.at(-1)
  if (processEndMs !== undefined) {
    if (endpointRemovedMs === undefined) return { why: 'ended before its endpoint was removed', remedy: sleepHook }
    const afterMs = Math.round(processEndMs - endpointRemovedMs)
    if (afterMs <= 0) return { why: `ended ${-afterMs} ms before its endpoint was removed`, remedy: sleepHook }
    if (afterMs < newsMs && !hasHook(death))
      return {
        why: `ended ${afterMs} ms after its endpoint was removed: clients hear of that later`,
        remedy: sleepHook,
      }
  }
  if (death?.containers.some(({ signal }) => signal === 'SIGKILL'))
    return {
      why: 'was killed while it served',
      remedy: 'Handle TERM: finish open requests, then exit; or give it a longer grace period.',
    }
  if (death)
    return {
      why: 'ended while requests were open or still came',
      remedy: `On TERM go on to accept until clients are gone, then finish what is open. ${sleepHook}`,
    }
  if (pod.restarts) return { why: 'restarted', remedy: 'Read why its container ended: kubectl logs --previous.' }
  return { why: 'did not answer', remedy: 'Give it a readiness probe that fails when it cannot serve.' }
}
