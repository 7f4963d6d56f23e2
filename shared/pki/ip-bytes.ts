import { isIPv4 } from 'node:net'

/**
 * Tells an address from a DNS name: a name has no colon. Node's own pattern for IPv6 would take longer than making a
 * certificate.
 */
export const isAddress = (text: string): boolean => text.includes(':') || isIPv4(text)

/** Returns an address in network byte order: 4 or 16 bytes. */
export function ipBytes(address: string): Buffer {
  return isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail] = address.split('::')
  const left = groups(head)
  const right = groups(tail ?? '')
  const missing = tail === undefined ? 0 : 8 - left.length - right.length
  return Buffer.from(
    [...left, ...Array<number>(missing).fill(0), ...right].flatMap((group) => [group >> 8, group & 0xff]),
  )
}

function groups(text: string): number[] {
  if (!text) return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
