const kinds = [
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
]

/** Holds the resources that a quota counts as objects, so that their amounts have no fractions. */
export const counted: ReadonlySet<string> = new Set([...kinds, 'services.nodeports', 'services.loadbalancers'])

/** Holds the resources that a container has an amount of. */
export const measured: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])

/** Holds all resources with names of their own, but for hugepages and those of a quota alone. */
export const standardResources: ReadonlySet<string> = new Set([
  ...kinds,
  ...measured,
  ...[...measured].flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
  'storage',
])
