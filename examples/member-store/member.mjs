/** One member: its data, its folder, and how it leaves. */
import { createHash } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask } from './ask.mjs'
import { copyToOthers, dutyOf, sendCopy } from './departure.mjs'
import { takeFolder } from './folder.mjs'
import { memberUrl, remainingPeers, stateOf } from './peers.mjs'

export class Member {
  #options
  /** Undefined until the pod has taken one: before that it is no member. */
  #folder
  /** `{ key: { version, value } }` */
  #data = {}
  #isFlushed = true
  /** Settles when the flushes that were asked for so far have ended. */
  #flushes = Promise.resolve()
  /** Settles when the member has left. From the moment that it is there the member takes nothing, and counts for nothing. */
  #departure
  #isForgotten = false
  #standsBy = false
  #started
  #taking = new AbortController()

  /**
   * `root`: the folder of folders, of which there are to be `limit` at most. `address`, `pod`: of the pod, its IP and its name.
   * `replicas`: how many members keep a key.
   */
  constructor(options) {
    this.#options = options
  }

  /** Resolves when the pod holds a folder, or stands by for one. */
  start() {
    const { root, ...options } = this.#options
    this.#started = new Promise((resolve, reject) => {
      const standBy = () => {
        this.#standsBy = true
        resolve()
      }
      const taking = takeFolder(root, { ...options, stateOf, standBy, signal: this.#taking.signal })
      taking.then((folder) => folder && this.#become(folder)).then(resolve, reject)
    })
    return this.#started
  }

  get isMember() {
    return this.#folder !== undefined && this.#departure === undefined
  }

  /** Also without a folder, if all are held: only then do rollouts that surge end a member, whose folder this pod takes. */
  get isReady() {
    return this.isMember || (this.#standsBy && this.#departure === undefined)
  }

  /** A client's write: resolves to true when `replicas` members have it, or all if there are fewer. */
  async write(key, value) {
    if (!this.isMember) return false
    const { address, replicas } = this.#options
    const entry = { version: `${Date.now()}-${this.#folder.id}`, value }
    const members = [address, ...(await remainingPeers())]
    const wanted = Math.min(replicas, members.length)
    let copies = 0
    for (const member of rank(members, key)) {
      if (copies === wanted) break
      const isKept = member === address ? this.keep(key, entry) : await sendCopy(member, key, entry)
      if (isKept) copies++
    }
    return copies === wanted
  }

  /** A client's read: resolves to the newest entry that any member has, or undefined. */
  async read(key) {
    const path = `/copies/${encodeURIComponent(key)}`
    const answers = await Promise.all(
      (await remainingPeers()).map((address) => ask(memberUrl(address, path)).catch(() => undefined)),
    )
    const entries = answers.flatMap((answer) => (answer?.status === 200 ? [JSON.parse(answer.said)] : []))
    return [this.#data[key], ...entries].reduce((a, b) => (a?.version >= b?.version || !b ? a : b))
  }

  /** Another member's copy, or this one's own: true if it is kept, or a newer one is. */
  keep(key, entry) {
    if (!this.isMember) return false
    if (!(this.#data[key]?.version >= entry.version)) {
      this.#data[key] = entry
      this.#isFlushed = false
    }
    return true
  }

  entry(key) {
    return this.#data[key]
  }

  versions() {
    return Object.fromEntries(Object.entries(this.#data).map(([key, { version }]) => [key, version]))
  }

  /** Flushes come one after the other: one that finds nothing to do still waits for the one before it. */
  flush() {
    const flushed = this.#flushes.then(() => this.#flush())
    // Who asked for a flush hears of its failure, and no other.
    this.#flushes = flushed.catch(() => {})
    return flushed
  }

  /** What the reason asks for; resolves to a report when it is done. Only the first call counts. */
  leave(reason) {
    this.#departure ??= this.#leave(reason)
    return this.#departure
  }

  /** Lets go of the folder: the process may exit. */
  async end() {
    await this.flush()
    if (this.#isForgotten) await this.#folder.remove()
    else await this.#folder?.release()
  }

  async #flush() {
    if (this.#isFlushed || !this.#folder) return
    this.#isFlushed = true
    await this.#folder.flush(this.#data)
  }

  async #become(folder) {
    this.#data = await folder.load()
    this.#folder = folder
  }

  async #leave(reason) {
    const { root, pod, replicas } = this.#options
    // A pod that has just been started first takes the folder that waits for it: no other would.
    await this.#started
    this.#taking.abort()
    const { copies, forgets } = dutyOf(reason)
    await this.flush()
    const report = { pod, reason: reason ?? null, keys: Object.keys(this.#data).length, bytes: 0 }
    if (copies && this.#folder) Object.assign(report, await copyToOthers(this.#data, replicas))
    // What too few others have stays on the disk.
    this.#isForgotten = forgets && report.keysShort === 0
    await appendFile(join(root, 'departures.jsonl'), `${JSON.stringify(report)}\n`)
    return report
  }
}

/** The order in which members are asked to keep a key: another one for each key, the same at each member. */
function rank(addresses, key) {
  const weight = (address) => createHash('sha1').update(`${address} ${key}`).digest('hex')
  return addresses.toSorted((a, b) => (weight(a) < weight(b) ? -1 : 1))
}
