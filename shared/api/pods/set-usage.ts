const settableResources = ['cpu', 'memory'] as const
export type SetUsage = { readonly [resource in (typeof settableResources)[number]]?: string }

/** On a pod or its workload: what each of the pods is to use, instead of what it does; `cpu=500m,memory=1Gi`. */
export const USAGE_ANNOTATION = 'kubestage.dev/usage'
/** On a workload: what its running pods use together, each an equal share. */
export const LOAD_ANNOTATION = 'kubestage.dev/load'

export const formatSetUsage = (usage: SetUsage): string =>
  settableResources.flatMap((name) => (usage[name] === undefined ? [] : [`${name}=${usage[name]}`])).join(',')

/** Reads the value of an annotation. What it does not say of a resource, or says wrongly, is not set. */
export function parseSetUsage(text: string | undefined): SetUsage {
  const usage: { -readonly [name in keyof SetUsage]: string } = {}
  for (const part of text?.split(',') ?? []) {
    const [name = '', quantity = ''] = part.split('=')
    const known = settableResources.find((resource) => resource === name.trim())
    if (known && /^\d+(\.\d+)?(m|k|[KMGT]i?)?$/.test(quantity.trim())) usage[known] = quantity.trim()
  }
  return usage
}
