import type { User } from '../../kind/user.ts'
import { matchesUrl, type PolicyRule } from './policy-rule.ts'
import type { RuleResolver } from './rule-resolver.ts'

/** Rules that cannot be told apart any further: at most one value in each list. */
function* breakdown(rule: PolicyRule): Generator<PolicyRule> {
  for (const verb of rule.verbs) {
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const single = { apiGroups: [group], resources: [resource], verbs: [verb] }
        if (rule.resourceNames?.length)
          for (const name of rule.resourceNames) yield { ...single, resourceNames: [name] }
        else yield single
      }
    }
    for (const url of rule.nonResourceURLs ?? []) yield { nonResourceURLs: [url], verbs: [verb] }
  }
}

const hasAll = (own: readonly string[] = [], wanted: readonly string[] = []): boolean =>
  own.includes('*') || wanted.every((value) => own.includes(value))

/** `wanted` is broken down. Upstream: component-helpers/auth/rbac/validation/policy_comparator.go. */
function covers(own: PolicyRule, wanted: PolicyRule): boolean {
  return (
    hasAll(own.verbs, wanted.verbs) &&
    hasAll(own.apiGroups, wanted.apiGroups) &&
    (wanted.resources ?? []).every((resource) => coversResource(own.resources ?? [], resource)) &&
    (!own.resourceNames?.length ||
      (!!wanted.resourceNames?.length && wanted.resourceNames.every((name) => own.resourceNames?.includes(name)))) &&
    (wanted.nonResourceURLs ?? []).every((url) => own.nonResourceURLs?.some((pattern) => matchesUrl(pattern, url)))
  )
}

function coversResource(own: readonly string[], resource: string): boolean {
  const [, subresource] = resource.split('/')
  return own.includes('*') || own.includes(resource) || (subresource !== undefined && own.includes(`*/${subresource}`))
}

/** A role with more permissions is refused: three lists of a thousand values each are a billion. */
const maxPermissions = 100_000

/** Returns how many rules `breakdown` makes of one. */
const permissionsIn = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  verbs.length * (count(apiGroups) * count(resources) * Math.max(1, count(resourceNames)) + count(nonResourceURLs))

const count = (list: readonly string[] | undefined): number => list?.length ?? 0

/** Rules by what they name, so that each permission is held against those alone that could cover it. */
class HeldRules {
  readonly #byName = new Map<string, Set<PolicyRule>>()

  add(rule: PolicyRule): void {
    // A rule with names of resources covers those, whatever their type.
    const names = rule.resourceNames?.length ? rule.resourceNames.map((name) => `name ${name}`) : undefined
    for (const key of names ?? (rule.resources ?? []).map((resource) => `resource ${resource}`)) this.#put(key, rule)
    for (const url of rule.nonResourceURLs ?? []) this.#put(url.endsWith('*') ? 'patterns' : `url ${url}`, rule)
  }

  #put(key: string, rule: PolicyRule): void {
    const rules = this.#byName.get(key)
    if (rules) rules.add(rule)
    else this.#byName.set(key, new Set([rule]))
  }

  /** `wanted` is broken down. */
  cover(wanted: PolicyRule): boolean {
    return this.#keysOf(wanted).some((key) =>
      this.#byName
        .get(key)
        ?.values()
        .some((rule) => covers(rule, wanted)),
    )
  }

  #keysOf({ resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string[] {
    return [
      ...resources.flatMap((resource) => {
        const [, subresource] = resource.split('/')
        return ['resource *', `resource ${resource}`, `resource */${subresource}`]
      }),
      ...resourceNames.map((name) => `name ${name}`),
      ...nonResourceURLs.flatMap((url) => ['patterns', `url ${url}`]),
    ]
  }
}

/** Returns why the user may not grant these rules, in upstream's words; undefined if the user holds them all. */
export function escalation(
  resolver: RuleResolver,
  user: User,
  namespace: string,
  rules: readonly PolicyRule[],
): string | undefined {
  const own = new HeldRules()
  const errors = new Set<string>()
  for (const granted of resolver.rulesFor(user, namespace)) {
    if ('error' in granted) errors.add(granted.error)
    else own.add(granted.rule)
  }
  const permissions = rules.reduce((sum, rule) => sum + permissionsIn(rule), 0)
  if (permissions > maxPermissions)
    return `user ${JSON.stringify(user.name)} is attempting to grant ${permissions} RBAC permissions at once: at most ${maxPermissions} can be checked`
  const missing = rules.flatMap((rule) => [...breakdown(rule)]).filter((wanted) => !own.cover(wanted))
  if (missing.length === 0) return undefined
  const groups = user.groups.map((group) => JSON.stringify(group)).join(' ')
  const texts = [...new Set(compact(missing).map(describe))].sort()
  const more = errors.size > 0 ? `; resolution errors: [${[...errors].join(', ')}]` : ''
  return `user ${JSON.stringify(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${texts.join('\n')}${more}`
}

/** Rules that differ in their verbs alone become one. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const found = new Map<string, PolicyRule>()
  for (const rule of rules) {
    const { verbs, ...rest } = rule
    const key = JSON.stringify(rule.nonResourceURLs ? rule : rest)
    const known = found.get(key)
    found.set(key, known ? { ...known, verbs: [...known.verbs, ...verbs] } : rule)
  }
  return [...found.values()]
}

function describe({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts = Object.entries({
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
    Verbs: verbs,
  })
  const shown = parts.flatMap(([name, values]) =>
    values?.length ? [`${name}:[${values.map((value) => JSON.stringify(value)).join(' ')}]`] : [],
  )
  return `{${shown.join(', ')}}`
}
