import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { type MatchedResource, matchesRule } from './rules.ts'
import type { RegisteredWebhook, Rule } from './webhook.ts'

/**
 * A candidate is a webhook or policy whose rules match the resource of a request. Selectors and match conditions still
 * decide whether it applies.
 */
export interface Candidate<T> {
  hook: T
  /** The version of the resource that the webhook or policy registered for. */
  definition: ResourceDefinition
}

/** Holds the rules that say which requests a webhook or policy applies to. */
export interface Matching {
  rules?: readonly Rule[]
  matchPolicy?: string
}

const none: readonly never[] = []

/**
 * Finds the webhooks or policies whose rules match a request. Matching runs only after `version` has changed, and once
 * for each kind of request; without any webhook or policy, nothing is computed.
 */
export class Candidates<T extends Matching> {
  readonly #version: () => number
  readonly #all: () => readonly T[]
  readonly #siblings: (definition: ResourceDefinition) => readonly ResourceDefinition[]
  #hooks: readonly T[] = none
  #known = -1
  readonly #found = new Map<string, readonly Candidate<T>[]>()

  /** `version` must rise with each change of what `all` or `siblings` return. */
  constructor({
    version,
    all,
    siblings,
  }: {
    version(): number
    all(): readonly T[]
    /** Returns the other versions of the same resource. */
    siblings(definition: ResourceDefinition): readonly ResourceDefinition[]
  }) {
    this.#version = version
    this.#all = all
    this.#siblings = siblings
  }

  of(attributes: AdmissionAttributes): readonly Candidate<T>[] {
    const version = this.#version()
    if (version !== this.#known) {
      this.#hooks = this.#all()
      this.#known = version
      this.#found.clear()
    }
    if (this.#hooks.length === 0) return none
    const { operation, definition, subresource = '' } = attributes
    const id = `${operation} ${definition.group}/${definition.version}/${definition.plural}/${subresource}`
    let found = this.#found.get(id)
    if (!found) {
      found = this.#find(attributes)
      this.#found.set(id, found)
    }
    return found
  }

  #find(attributes: AdmissionAttributes): Candidate<T>[] {
    return this.#hooks.flatMap((hook) => {
      const matched = matchedDefinition(hook, attributes, this.#siblings)
      return matched ? [{ hook, definition: matched }] : []
    })
  }
}

/**
 * Returns the version in which a webhook's rules match: the request's own version if any rule matches it. Otherwise, if
 * matchPolicy is Equivalent, returns the one of its siblings that the earliest rule matches; undefined if none does.
 */
export function matchedDefinition(
  { rules = [], matchPolicy }: Matching,
  {
    definition: own,
    operation,
    subresource = '',
  }: Pick<AdmissionAttributes, 'definition' | 'operation' | 'subresource'>,
  siblings: (definition: ResourceDefinition) => readonly ResourceDefinition[],
): ResourceDefinition | undefined {
  const asked = ({ group, version, plural, namespaced }: ResourceDefinition): MatchedResource => ({
    group,
    version,
    plural,
    namespaced,
    subresource,
    operation,
  })
  const resource = asked(own)
  if (rules.some((rule) => matchesRule(rule, resource))) return own
  if (matchPolicy !== 'Equivalent' || rules.length === 0) return undefined
  const others = siblings(own)
  for (const rule of rules) {
    const found = others.find((other) => matchesRule(rule, asked(other)))
    if (found) return found
  }
  return undefined
}

export type WebhookCandidate = Candidate<RegisteredWebhook>
