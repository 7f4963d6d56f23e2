import { useEffect, useRef, useState } from 'preact/hooks'
import { type Address, addressOf, hashOf } from './address.ts'

/** Browsers reject addresses that change too often. */
const settledMs = 300

/** Returns the address as state. A new view is a step in the browser's history; a new window or filter is not. */
export function useAddress(): [Address, (change: Partial<Address>) => void] {
  const [address, set] = useState(() => addressOf(location.hash))
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    const onHash = (): void => set(addressOf(location.hash))
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  const change = (changed: Partial<Address>): void =>
    set((before) => {
      const next = { ...before, ...changed }
      clearTimeout(timer.current)
      if (next.tab !== before.tab) history.pushState(null, '', hashOf(next))
      else timer.current = setTimeout(() => history.replaceState(null, '', hashOf(next)), settledMs)
      return next
    })
  return [address, change]
}
