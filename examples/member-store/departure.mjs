/** What a member owes the others when it has to end: that depends on the reason alone. */
import { ask } from './ask.mjs'
import { memberUrl, remainingPeers } from './peers.mjs'

/** `copies`: the others get what they would lack without this member. `forgets`: the member is none any more. */
const duties = {
  Decommissioned: { copies: true, forgets: true },
  // It comes back, here or on another node, sooner or later, and finds its folder.
  Update: { copies: false, forgets: false },
  Eviction: { copies: false, forgets: false },
  IntolerableTaint: { copies: false, forgets: false },
  Suspended: { copies: false, forgets: false },
  // The member's own word: its work is done.
  Finished: { copies: true, forgets: true },
}
/** No reason, or one that only people understand: it may come back or not, so do what is right in both cases. */
const unknown = { copies: true, forgets: false }

export const dutyOf = (reason) => (Object.hasOwn(duties, reason ?? '') ? duties[reason] : unknown)

/**
 * Copies what the others lack to them. Resolves to `others`, how many there are, `bytes`, how many were sent, and
 * `keysShort`, how many keys have fewer copies elsewhere than they should.
 * A member that is ending itself answers 503: it takes nothing, and counts for nothing. So of several members that end at
 * the same time the last one sees which copies will be left.
 */
export async function copyToOthers(data, replicas) {
  const others = await versionsOf(await remainingPeers())
  let bytes = 0
  let keysShort = 0
  for (const [key, entry] of Object.entries(data)) {
    const has = (versions) => versions[key] >= entry.version
    let copies = [...others.values()].filter(has).length
    // Those with the fewest keys first.
    const lacking = [...others].filter(([, versions]) => !has(versions)).sort(([, a], [, b]) => sizeOf(a) - sizeOf(b))
    for (const [address, versions] of lacking) {
      if (copies >= replicas) break
      bytes += Buffer.byteLength(entry.value)
      if (await sendCopy(address, key, entry)) {
        versions[key] = entry.version
        copies++
      } else others.delete(address)
    }
    if (copies < Math.max(1, Math.min(replicas, others.size))) keysShort++
  }
  return { others: others.size, bytes, keysShort }
}

const sizeOf = (versions) => Object.keys(versions).length

/** True if the member has it now. */
export async function sendCopy(address, key, { version, value }) {
  const url = memberUrl(address, `/copies/${encodeURIComponent(key)}`)
  const sent = ask(url, { method: 'PUT', headers: { version }, body: value })
  return sent.then(({ status }) => status < 300).catch(() => false)
}

/** By address, the version of each key that a member has; only of members that answer. */
async function versionsOf(addresses) {
  const answers = await Promise.all(
    addresses.map((address) => ask(memberUrl(address, '/copies')).catch(() => undefined)),
  )
  return new Map(
    answers.flatMap((answer, i) => (answer?.status === 200 ? [[addresses[i], JSON.parse(answer.said)]] : [])),
  )
}
