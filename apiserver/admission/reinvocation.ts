import { toJson } from '../../shared/api/json/exact-json.ts'
import type { AdmissionAttributes } from '../registry/admission-plugin.ts'

/**
 * Tracks for one request what a plugin has asked so far: what may be asked again must be once more after a later change
 * of the object. Upstream: webhook/mutating/reinvocationcontext.go and policy/mutating/reinvocationcontext.go.
 */
export class Invocations {
  readonly #willing = new Set<string>()
  readonly #wanted = new Set<string>()
  #lastOutput: string | undefined

  static of(attributes: AdmissionAttributes, plugin: string): Invocations {
    attributes.reinvocation ??= { isSecondRound: false, isNeeded: false, plugins: new Map() }
    const { plugins } = attributes.reinvocation
    const known = plugins.get(plugin) as Invocations | undefined
    if (known) return known
    const begun = new Invocations()
    plugins.set(plugin, begun)
    return begun
  }

  /** The plugin is asked now. In the second round others may have changed the object since. */
  begin({ reinvocation, object }: AdmissionAttributes): void {
    if (reinvocation!.isSecondRound && this.#willing.size > 0 && this.#lastOutput !== toJson(object)) this.#want()
  }
  isAsked(id: string, { reinvocation }: AdmissionAttributes): boolean {
    return !reinvocation!.isSecondRound || this.#wanted.has(id)
  }
  /** The object has changed: all plugins are asked a second time. */
  changed({ reinvocation }: AdmissionAttributes): void {
    this.#want()
    reinvocation!.isNeeded = true
  }
  mayBeAskedAgain(id: string): void {
    this.#willing.add(id)
  }
  end({ object }: AdmissionAttributes): void {
    if (this.#willing.size > 0) this.#lastOutput = toJson(object)
  }

  #want(): void {
    for (const id of this.#willing) this.#wanted.add(id)
    this.#willing.clear()
  }
}
