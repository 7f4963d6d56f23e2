/** Values that expressions make, as JSON. */
import { printDuration, printTimestamp } from '../../cel/library/time.ts'
import { Duration, MadeObject, Optional, Timestamp, TypeValue, typeOfValue, Uint } from '../../cel/values.ts'
import { OddValue } from '../../patch/structured-merge/go-print.ts'
import { type JsonMap, put } from '../../values/json-map.ts'

const maxCharacters = 3 * 1024 * 1024

/** A value is not JSON, or has more parts than a request may have. */
export class NotNative extends Error {}

/** Turns values of one expression to JSON: what they share counts each time, so that no patch is larger than a body. */
abstract class Values {
  readonly #maxValues: number
  #values = 0
  #characters = 0

  constructor(maxValues: number) {
    this.#maxValues = maxValues
  }

  object({ fields }: MadeObject): JsonMap {
    const out: JsonMap = {}
    for (const [name, value] of fields) put(out, this.#text(name), this.of(value))
    return out
  }

  of(value: unknown): unknown {
    if (++this.#values > this.#maxValues) throw new NotNative(`a patch has more than ${this.#maxValues} values`)
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'bigint':
        return this.integer(value)
      case 'number':
      case 'boolean':
        return value
    }
    if (value === null) return this.nothing()
    if (Array.isArray(value)) return value.map((item) => this.of(item))
    if (value instanceof Map) return this.#map(value)
    if (value instanceof MadeObject) return this.object(value)
    if (value instanceof Uint8Array) return this.#text(Buffer.from(value).toString('base64'))
    return this.special(value)
  }

  protected abstract integer(value: bigint): unknown
  protected abstract nothing(): unknown
  protected abstract wrongKey(key: unknown): string
  protected abstract special(value: unknown): unknown

  #map(map: Map<unknown, unknown>): JsonMap {
    const out: JsonMap = {}
    for (const [key, value] of map) {
      if (typeof key !== 'string') throw new NotNative(this.wrongKey(key))
      put(out, this.#text(key), this.of(value))
    }
    return out
  }

  #text(text: string): string {
    this.#characters += text.length
    if (this.#characters > maxCharacters) throw new NotNative(`a patch has more than ${maxCharacters} characters`)
    return text
  }
}

/** Values of a configuration: what Go has no JSON for is refused where the type of the field is known. */
export class ConfigurationValues extends Values {
  protected integer(value: bigint): unknown {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  protected nothing(): unknown {
    return new OddValue('structpb.NullValue', 'NULL_VALUE', '0')
  }
  protected wrongKey(key: unknown): string {
    return `map key ${JSON.stringify(String(key))} is of type types.Int, not string`
  }
  protected special(value: unknown): unknown {
    if (value instanceof Uint) return new OddValue('uint64', String(value.value), `0x${value.value.toString(16)}`)
    if (value instanceof TypeValue) return value.type.name
    if (value instanceof Timestamp) return new OddValue('time.Time', printTimestamp(value), printTimestamp(value))
    if (value instanceof Duration) return new OddValue('time.Duration', printDuration(value), String(value.nanos))
    if (value instanceof Optional) return value.present ? this.of(value.value) : null
    throw new NotNative(`unsupported type: ${typeOfValue(value).name}`)
  }
}

/** Values of a JSON patch, as protobuf makes JSON of them. */
export class PatchValues extends Values {
  protected integer(value: bigint): unknown {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : String(value)
  }
  protected nothing(): unknown {
    return null
  }
  protected wrongKey(key: unknown): string {
    return `unsupported type conversion from '${typeOfValue(key).name}' to string`
  }
  protected special(value: unknown): unknown {
    if (value instanceof Uint) return this.integer(value.value)
    if (value instanceof Timestamp) return printTimestamp(value)
    if (value instanceof Duration) return printDuration(value)
    if (value instanceof Optional && value.present) return this.of(value.value)
    if (value instanceof Optional) throw new NotNative('optional.none() dereference')
    throw new NotNative(`type conversion not supported for '${typeOfValue(value).name}'`)
  }
}
