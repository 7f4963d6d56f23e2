import { numberOf, textOf } from '../../shared/api/services/address-range.ts'

/** The first and the last of neighbouring IPv4 addresses, as numbers. */
export type AddressSpan = readonly [first: number, last: number]

const LAST = 2 ** 32 - 1

export const everywhere: readonly AddressSpan[] = [[0, LAST]]

/** True if these are all addresses. */
export const isEverywhere = ([span]: readonly AddressSpan[]): boolean => span?.[0] === 0 && span[1] === LAST

export const spanOfAddress = (address: string): AddressSpan => [numberOf(address), numberOf(address)]

/** Returns those of a CIDR without those of others. IPv6 has none. */
export function spansOfBlock(cidr: string, except: readonly string[] = []): AddressSpan[] {
  if (cidr.includes(':')) return []
  let left = [spanOfCidr(cidr)]
  for (const part of except) {
    if (part.includes(':')) continue
    const [first, last] = spanOfCidr(part)
    left = left.flatMap(([from, to]): AddressSpan[] =>
      last < from || first > to
        ? [[from, to]]
        : [[from, first - 1] as const, [last + 1, to] as const].filter(([start, end]) => start <= end),
    )
  }
  return left
}

function spanOfCidr(cidr: string): AddressSpan {
  const [address = '', bits = '32'] = cidr.split('/')
  const size = 2 ** (32 - Number(bits))
  const first = Math.floor(numberOf(address) / size) * size
  return [first, first + size - 1]
}

/** Returns the same addresses, or ports, in order and without overlaps: nft refuses those in a set. */
export function mergeSpans(spans: readonly AddressSpan[]): AddressSpan[] {
  const merged: AddressSpan[] = []
  for (const [first, last] of [...spans].sort(([a], [b]) => a - b)) {
    const before = merged.at(-1)
    if (before && first <= before[1] + 1) merged[merged.length - 1] = [before[0], Math.max(before[1], last)]
    else merged.push([first, last])
  }
  return merged
}

/** Writes a span as nft reads it. */
export const spanText = ([first, last]: AddressSpan): string =>
  first === last ? textOf(first) : `${textOf(first)}-${textOf(last)}`
