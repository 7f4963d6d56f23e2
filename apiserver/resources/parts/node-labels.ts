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

/** What to use instead of a label. */
export const nodeLabelWarning = (key: string): string | undefined => renamed.get(key)

/** A warning for each key that is renamed. `at`: its path. */
export const nodeLabelWarnings = (keys: Iterable<string>, at: (key: string) => string): string[] =>
  [...keys].flatMap((key) => {
    const message = nodeLabelWarning(key)
    return message === undefined ? [] : [`${at(key)}: ${message}`]
  })

/** Of the expressions of one term of a selector of nodes. */
export const nodeTermWarnings = (
  { matchExpressions = [] }: { matchExpressions?: { key: string }[] },
  path: string,
): string[] =>
  matchExpressions.flatMap(({ key }, index) => {
    const message = nodeLabelWarning(key)
    return message === undefined ? [] : [`${path}.matchExpressions[${index}].key: ${key} is ${message}`]
  })
