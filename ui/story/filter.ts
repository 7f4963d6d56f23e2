import { type LabelSelector, matchesLabels, parseLabelSelector } from '../../shared/api/label-selector.ts'
import { StatusError } from '../../shared/api/status-error.ts'
import type { PodStory } from './model.ts'

export type PodFilter = (pod: PodStory) => boolean

/** `app=web,tier!=db` selects by labels; anything else is searched in names, namespaces, nodes and reasons. */
export function podFilter(text: string): PodFilter {
  const wanted = text.trim()
  if (!wanted) return () => true
  const selector = /[=!(]/.test(wanted) ? selectorOf(wanted) : undefined
  if (selector) return ({ labels }) => matchesLabels(selector, labels)
  const lower = wanted.toLowerCase()
  return ({ name, namespace, node, owner, reason }) =>
    [name, namespace, node, owner?.name, reason].some((each) => each?.toLowerCase().includes(lower))
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
