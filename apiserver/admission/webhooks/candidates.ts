import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { type MatchedResource, matchesRule } from './rules.ts'
import type { RegisteredWebhook, Rule } from './webhook.ts'

/** What may be asked about a request, as far as its resource tells. */
export interface Candidate<T> {
  hook: T
  /** The version of the resource that it wants to hear of. */
  definition: ResourceDefinition
}

/** What says by rules which requests it is about. */
export interface Matching {
  rules?: readonly Rule[]
  matchPolicy?: string
}

const none: readonly never[] = []

/**
 * Finds what is about a request. What there is, is only looked through when it, or the catalog, has changed, and for
 * each kind of request once; where there is nothing, nothing is done.
 */
export class Candidates<T extends Matching> {
  readonly #version: () => number
  readonly #all: () => readonly T[]
  readonly #siblings: (definition: ResourceDefinition) => readonly ResourceDefinition[]
  #hooks: readonly T[] = none
  #known = -1
  readonly #found = new Map<string, readonly Candidate<T>[]>()

  /** `version` rises with each change of what `all` or `siblings` say. */
  constructor({
    version,
    all,
    siblings,
  }: {
    version(): number
    all(): readonly T[]
    /** Other versions of the same resource. */
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
    const { definition } = attributes
    const versions = [definition, ...this.#siblings(definition)]
    return this.#hooks.flatMap((hook) => {
      const matched = matchedDefinition(hook, versions, attributes)
      return matched ? [{ hook, definition: matched }] : []
    })
  }
}

/**
 * The request's own version, the first, where a rule names it; else, if it may be, the first that an earlier rule
 * names.
 */
export function matchedDefinition(
  { rules = [], matchPolicy }: Matching,
  [own, ...others]: readonly ResourceDefinition[],
  { operation, subresource = '' }: Pick<AdmissionAttributes, 'operation' | 'subresource'>,
): ResourceDefinition | undefined {
  const asked = ({ group, version, plural, namespaced }: ResourceDefinition): MatchedResource => ({
    group,
    version,
    plural,
    namespaced,
    subresource,
    operation,
  })
  if (own && rules.some((rule) => matchesRule(rule, asked(own)))) return own
  if (matchPolicy !== 'Equivalent') return undefined
  for (const rule of rules) {
    const found = others.find((other) => matchesRule(rule, asked(other)))
    if (found) return found
  }
  return undefined
}

export type WebhookCandidate = Candidate<RegisteredWebhook>
