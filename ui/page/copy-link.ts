import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Address, hashOf } from './address.ts'

/** The button reports its result for this long. */
const saidMs = 2_000

/** Copies an address that opens the same view. */
export function CopyLink({ address }: { address: Address }): JSX.Element {
  const [said, say] = useState('')
  const copy = async (): Promise<void> => {
    const hash = hashOf(address)
    history.replaceState(null, '', hash)
    try {
      await navigator.clipboard.writeText(location.href)
      say('Copied')
    } catch {
      // Pages without TLS, and browsers that ask first.
      say('Copy it from the address bar')
    }
    setTimeout(() => say(''), saidMs)
  }
  return h('button', { onClick: copy }, [said || 'Copy link', h('span', { class: 'unseen', role: 'status' }, said)])
}
