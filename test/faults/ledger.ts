import type { ConfigMap } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { oneOf } from './random.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps' }
const namespace = 'default'
const absent = undefined
/** So that a long run does not grow without end. */
const mostObjects = 300

/** What a client was told, and what must be true of the store after any fault. */
export class Ledger {
  /** Writes that were acknowledged, and such whose answer never came. */
  readonly counts = { acknowledged: 0, refused: 0, unanswered: 0 }
  /** The last acknowledged value of each name; undefined: deleted. */
  readonly #known = new Map<string, string | undefined>()
  /** What an unanswered write may have left: the value before, or the new one. Such names are written no more. */
  readonly #doubtful = new Map<string, readonly (string | undefined)[]>()
  readonly #random: () => number
  /** Writes under way; none begins while the store is being compared. */
  readonly #underWay = new Set<Promise<unknown>>()
  #comparing: Promise<unknown> = Promise.resolve()
  #names = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** One write: a create, an update or a delete. Never rejects. `refusal`: whether the error was the server's own answer. */
  async write(client: Client, refusal: (error: unknown) => boolean): Promise<void> {
    await this.#comparing
    const living = this.#living()
    const isNew = living.length === 0 || (living.length < mostObjects && this.#random() < 0.4)
    const name = isNew ? `object-${this.#names++}` : oneOf(this.#random, living)
    const after = !isNew && this.#random() < 0.3 ? absent : `${this.#random()}`
    const writing = this.#write(client, { name, isNew, value: after }, refusal)
    this.#underWay.add(writing)
    await writing.finally(() => this.#underWay.delete(writing))
  }

  /** Rejects when the server refuses it. */
  async delete(client: Client, refusal: (error: unknown) => boolean): Promise<void> {
    const [name] = this.#living()
    const refused = name && (await this.#write(client, { name, isNew: false, value: absent }, refusal))
    if (refused) throw new Error(`the delete of ${name} was refused: ${refused}`)
  }

  #living(): string[] {
    return [...this.#known].filter(([, value]) => value !== absent).map(([name]) => name)
  }

  /** Resolves to why the server refused it, if it did. */
  async #write(client: Client, written: Change, refusal: (error: unknown) => boolean): Promise<string | undefined> {
    const { name, isNew, value: after } = written
    const before = this.#known.get(name)
    this.#known.delete(name)
    try {
      await change(client, written)
      this.#known.set(name, after)
      this.counts.acknowledged++
    } catch (error) {
      if (refusal(error)) {
        this.counts.refused++
        if (!isNew) this.#known.set(name, before)
        return (error as Error).message
      } else {
        this.counts.unanswered++
        this.#doubtful.set(name, [before, after])
      }
    }
    return undefined
  }

  /** In words, what the store says otherwise than it must; empty: nothing is lost. */
  async differences(client: Client): Promise<string[]> {
    const compared = Promise.withResolvers<void>()
    this.#comparing = compared.promise
    try {
      await Promise.allSettled(this.#underWay)
      return await this.#compare(client)
    } finally {
      compared.resolve()
    }
  }

  async #compare(client: Client): Promise<string[]> {
    const { items } = await client.list<ConfigMap>(configmaps, { namespace })
    const stored = new Map(items.map(({ metadata, data }) => [metadata.name ?? '', data?.value]))
    const wrong = [...this.#known].filter(([name, value]) => stored.get(name) !== value)
    const strange = [...this.#doubtful].filter(([name, values]) => !values.includes(stored.get(name)))
    return [
      ...wrong.map(
        ([name, value]) => `${name} is ${stored.get(name) ?? 'absent'}, acknowledged was ${value ?? 'a delete'}`,
      ),
      ...strange.map(
        ([name, values]) => `${name} is ${stored.get(name) ?? 'absent'}, and was never written so: ${values}`,
      ),
    ]
  }

  /** Of acknowledged names. */
  get size(): number {
    return this.#known.size
  }
}

interface Change {
  name: string
  isNew: boolean
  value: string | undefined
}

async function change(client: Client, { name, isNew, value }: Change): Promise<void> {
  const data = { value: value ?? '', ballast: 'x'.repeat(2_000) }
  if (value === absent) {
    await client.delete(configmaps, { namespace, name })
  } else if (isNew) {
    await client.create<ConfigMap>(configmaps, { metadata: { name }, data }, { namespace })
  } else {
    await client.patch<ConfigMap>(configmaps, { namespace, name }, { data })
  }
}
