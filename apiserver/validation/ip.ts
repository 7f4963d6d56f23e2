/** Addresses as upstream accepts them. */
import { isIP, isIPv4 } from 'node:net'

/** Legacy parsing lets leading zeroes pass; an address is an address. */
export const isAddress = (text: string): boolean => isIP(stripLeadingZeros(text)) !== 0 && !text.includes('%')
export const BAD_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'

const stripLeadingZeros = (text: string) => (text.includes(':') ? text : text.replaceAll(/\b0+(?=\d)/g, ''))

export function isCidr(text: string): boolean {
  const [address = '', length = '', ...rest] = text.split('/')
  if (rest.length > 0 || !isAddress(address) || !/^\d{1,3}$/.test(length)) return false
  return Number(length) <= (isIPv4(address) ? 32 : 128)
}
