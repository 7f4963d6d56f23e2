import type { HealthChecks } from './health-routes.ts'

/** A server that answers at all is well: it has nothing outside of its process that could fail. */
const ok = (): undefined => undefined

const hooks = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
].map((name) => `poststarthook/${name}`)

const all = (names: readonly string[]): HealthChecks => Object.fromEntries(names.map((name) => [name, ok]))

/** In upstream's names and order, for people and scripts that look for one. */
export const livezChecks = all(['ping', 'log', 'etcd', ...hooks])
export const readyzChecks = all(['ping', 'log', 'etcd', 'etcd-readiness', 'informer-sync', ...hooks, 'shutdown'])
