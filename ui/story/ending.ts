import type { ContainerDeath, Death, PodStory } from './model.ts'
import { backOffOf } from './pod.ts'
import { at, listAt, numberAt, textAt } from './text.ts'

/** Says how a pod ended, in a few words. */
export interface Ending {
  /** Text such as `137 · ignored TERM · 8.0 s`. */
  text: string
  /** The pod did not end as it should. */
  isBad: boolean
}

/** Words for verdicts whose type is not readable as it is (shared/api/termination.ts). */
const verdicts: Readonly<Record<string, string>> = {
  NoHandler: 'no TERM handler',
  IgnoredSignal: 'ignored TERM',
  CaughtButWentOn: 'caught TERM, went on',
  HookOverranKilled: 'hook overran, killed',
}
const good: ReadonlySet<string> = new Set(['Stopped', 'Completed'])

/** Returns the type of a verdict as words: `KilledAtDeadline` becomes `killed at deadline`. */
const spaced = (type: string): string => {
  const text = type.replace(/(?<=[a-z])[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`)
  return /^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text
}
const verdictWords = (type: string): string => (Object.hasOwn(verdicts, type) ? verdicts[type]! : spaced(type))

const seconds = (ms: number): string => (ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`)
const joined = (...parts: (string | number | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join(' · ')

/**
 * Describes the end of a pod that has ended, or whose container is not started for now; returns undefined for a running
 * pod.
 */
export function endingOf(pod: PodStory): Ending | undefined {
  const isOver = pod.goneMs !== undefined || pod.endPhase !== ''
  const death = pod.deaths.at(-1)
  if (isOver && death) return endingOfDeath(death)
  const container = worstOf(endedContainers(pod))
  const code = numberAt(container, 'exitCode')
  const reason = textAt(container, 'reason')
  const backOff = isOver ? '' : backOffOf(pod.object)
  if (backOff) return { text: joined(backOff, code === undefined ? '' : `exit code ${code}`), isBad: true }
  if (!isOver) return undefined
  const why = textAt(pod.object, 'status', 'reason') || spaced(reason) || (container ? '' : unknownEnd(pod))
  return { text: joined(code, why), isBad: code !== 0 && container !== undefined }
}

const unknownEnd = ({ phases }: PodStory): string =>
  phases.some(({ value }) => value === 'Running' || value === 'Ready') ? 'end not recorded' : 'never started'

function endingOfDeath(death: Death): Ending {
  const container = worstDeath(death)
  const type = container?.verdictType || death.verdictType
  const ends = death.containers.flatMap(({ segments }) => segments.map(({ endMs }) => endMs))
  const tookMs = Math.max(...ends, death.startMs) - death.startMs
  const text = joined(container?.exitCode, verdictWords(type), ends.length ? seconds(tookMs) : '')
  return { text, isBad: !good.has(type) }
}

/** Returns a container that ended badly, or else the one that ended last. */
function worstDeath({ containers }: Death): ContainerDeath | undefined {
  return containers.find(({ verdictType }) => !good.has(verdictType)) ?? containers.at(-1)
}

const endedContainers = ({ object }: PodStory): unknown[] =>
  [...listAt(object, 'status', 'initContainerStatuses'), ...listAt(object, 'status', 'containerStatuses')]
    .map((status) => at(status, 'state', 'terminated') ?? at(status, 'lastState', 'terminated'))
    .filter((terminated) => terminated !== undefined)

const worstOf = (terminated: readonly unknown[]): unknown =>
  terminated.find((each) => numberAt(each, 'exitCode') !== 0) ?? terminated.at(-1)

/** Returns the last known exit codes of a pod's containers. */
export function exitCodesOf(pod: PodStory): number[] {
  const ofDeaths = pod.deaths.flatMap(({ containers }) => containers.map(({ exitCode }) => exitCode))
  const codes = [...ofDeaths, ...endedContainers(pod).map((each) => numberAt(each, 'exitCode'))]
  return [...new Set(codes.filter((code) => code !== undefined))]
}
