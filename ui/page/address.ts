import type { PodStory } from '../story/model.ts'
import type { Story } from '../story/story.ts'
import type { TimeWindow } from '../views/time-axis.ts'
import type { Grouping } from '../views/timeline/geometry.ts'

export const tabs = ['Timeline', 'One death', 'Rollout', 'Journal', 'Nodes', 'Object'] as const
export type Tab = (typeof tabs)[number]

/** Holds what the page shows. It is stored in the page's address, so that a user can send a link to the same view. */
export interface Address {
  tab: Tab
  /** `namespace/name`, or a UID; empty if no pod is selected. */
  pod: string
  /** Filters pods by labels, or by words. */
  filter: string
  grouping: Grouping
  /** Holds the stretch of time; absent for the whole record. */
  window?: TimeWindow
}

const nameOf = (tab: Tab): string => tab.toLowerCase().replace(' ', '-')
/** Characters that need no escape in a fragment and are easier to read without. */
const readable = (text: string): string => text.replace(/%(2F|3A|3D|2C)/g, (code) => decodeURIComponent(code))

/**
 * Returns the fragment of an address: `#timeline?pod=default/web-1&from=2030-01-01T10:00:00.000Z&to=…&filter=app=web`.
 */
export function hashOf({ tab, pod, filter, grouping, window }: Address): string {
  const query = new URLSearchParams()
  if (pod) query.set('pod', pod)
  if (filter) query.set('filter', filter)
  if (grouping !== 'workload') query.set('by', grouping)
  if (window) {
    query.set('from', new Date(window.fromMs).toISOString())
    query.set('to', new Date(window.toMs).toISOString())
  }
  const text = readable(query.toString())
  return `#${nameOf(tab)}${text && `?${text}`}`
}

/** Reads an address from a fragment. Unknown parts are left out. */
export function addressOf(hash: string): Address {
  const [name = '', ...rest] = hash.replace(/^#/, '').split('?')
  const query = new URLSearchParams(rest.join('?'))
  const [fromMs, toMs] = ['from', 'to'].map((key) => Date.parse(query.get(key) ?? '')) as [number, number]
  return {
    tab: tabs.find((tab) => nameOf(tab) === name) ?? 'Timeline',
    pod: query.get('pod') ?? '',
    filter: query.get('filter') ?? '',
    grouping: query.get('by') === 'node' ? 'node' : 'workload',
    ...(toMs > fromMs && { window: { fromMs, toMs } }),
  }
}

/** Returns how an address refers to a pod: by its name, or by its UID if a later pod has the same name. */
export const podAddress = (story: Story, { namespace, name, uid }: PodStory): string =>
  story.podNamed(namespace, name)?.uid === uid ? `${namespace}/${name}` : uid

export function podAt(story: Story, address: string): PodStory | undefined {
  const [namespace = '', name] = address.split('/')
  return name === undefined ? story.pods.get(address) : story.podNamed(namespace, name)
}
