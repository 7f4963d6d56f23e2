import { type LabelSelector, matchesLabels, parseLabelSelector } from '../../shared/api/selectors/label-selector.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { endingOf, exitCodesOf } from './ending.ts'
import type { PodStory } from './model.ts'

export type PodFilter = (pod: PodStory) => boolean

/**
 * `app=web,tier!=db` selects by labels. Anything else is words, each of which must be a part of a name, a namespace, a
 * node, a reason, a cause or a verdict; a number may be an exit code.
 */
export function podFilter(text: string): PodFilter {
  const wanted = text.trim()
  if (!wanted) return () => true
  const selector = /[=!(]/.test(wanted) ? selectorOf(wanted) : undefined
  if (selector) return ({ labels }) => matchesLabels(selector, labels)
  const words = wanted.toLowerCase().split(/\s+/)
  return (pod) => {
    const known = textsOf(pod)
    return words.every(
      (word) => known.includes(word) || (/^\d+$/.test(word) && exitCodesOf(pod).includes(Number(word))),
    )
  }
}

function textsOf(pod: PodStory): string {
  const { name, namespace, node, owner, workload, reason, endPhase, deaths, phases } = pod
  const ofDeaths = deaths.flatMap((death) => [
    ...[death.reason, death.cause, death.verdict, death.verdictType, death.message],
    ...death.containers.flatMap(({ verdict, verdictType, signal }) => [verdict, verdictType, signal]),
  ])
  const state = phases.at(-1)?.value
  const ending = endingOf(pod)?.text.replace(/^\d+ · /, '')
  const texts = [name, namespace, node, owner?.name, workload, reason, endPhase, state, ending, ...ofDeaths]
  return texts.join('\n').toLowerCase()
}

function selectorOf(text: string): LabelSelector | undefined {
  try {
    return parseLabelSelector(text)
  } catch (error) {
    // What is no selector is searched as text; anything else is a bug, which must be seen.
    if (error instanceof StatusError) return undefined
    throw error
  }
}
