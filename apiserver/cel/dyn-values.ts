/** JSON values without a schema, as expressions see them. */
import { isObject, type JsonObject } from '../schema/json-schema.ts'

/** Converts a JSON value, which must not change afterwards, to a CEL value. A member that is undefined is absent. */
export function convertDyn(value: unknown): unknown {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (Array.isArray(value)) return value.map(convertDyn)
  return isObject(value) ? new DynMap(value) : value
}

/** A map of the members of a JSON object, which are converted when the first of them is read. */
class DynMap extends Map<string, unknown> {
  #json: JsonObject | undefined

  constructor(json: JsonObject) {
    super()
    this.#json = json
  }
  override get size(): number {
    this.#convert()
    return super.size
  }
  override has(key: string): boolean {
    this.#convert()
    return super.has(key)
  }
  override get(key: string): unknown {
    this.#convert()
    return super.get(key)
  }
  override keys(): MapIterator<string> {
    this.#convert()
    return super.keys()
  }
  override values(): MapIterator<unknown> {
    this.#convert()
    return super.values()
  }
  override entries(): MapIterator<[string, unknown]> {
    this.#convert()
    return super.entries()
  }
  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries()
  }
  override forEach(visit: Parameters<Map<string, unknown>['forEach']>[0]): void {
    this.#convert()
    super.forEach(visit)
  }

  #convert(): void {
    const json = this.#json
    if (json === undefined) return
    this.#json = undefined
    for (const key in json) if (json[key] !== undefined) super.set(key, convertDyn(json[key]))
  }
}
