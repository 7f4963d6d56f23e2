/** Labels of nodes that have other names today. Upstream: pkg/api/node/util.go. */
const renamed = new Map(
  Object.entries({
    'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
    'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  }),
)

/** Returns what to use instead of a deprecated node label; undefined for other labels. */
export const nodeLabelWarning = (key: string): string | undefined => renamed.get(key)

/** Returns the name that a deprecated node label has today; undefined for other labels. */
export const newLabelOf = (key: string): string | undefined => /use "(.*)"/.exec(renamed.get(key) ?? '')?.[1]

/** Returns a warning for each deprecated node label in `keys`. `at` returns the path of a key. */
export const nodeLabelWarnings = (keys: Iterable<string>, at: (key: string) => string): string[] =>
  [...keys].flatMap((key) => {
    const message = nodeLabelWarning(key)
    return message === undefined ? [] : [`${at(key)}: ${message}`]
  })

/** Returns a warning for each deprecated node label in the expressions of a node selector term. */
export const nodeTermWarnings = (
  { matchExpressions = [] }: { matchExpressions?: { key: string }[] },
  path: string,
): string[] =>
  matchExpressions.flatMap(({ key }, index) => {
    const message = nodeLabelWarning(key)
    return message === undefined ? [] : [`${path}.matchExpressions[${index}].key: ${key} is ${message}`]
  })
