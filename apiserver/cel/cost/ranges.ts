/**
 * Sizes from the smallest to the largest, and costs: an unsigned 64-bit number of Go each, which stops at its greatest
 * value. What a double holds is exact up to 2^53, far above every limit.
 */
export interface Size {
  min: number
  max: number
}

export const MAX = 2 ** 64
export const UNKNOWN: Size = { min: 0, max: MAX }
export const fixed = (size: number): Size => ({ min: size, max: size })

const clamp = (value: number): number => Math.min(MAX, value)
export const add = (left: number, right: number): number => clamp(left + right)
export const times = (left: number, right: number): number => clamp(left * right)
/** Rounded up. */
export const scaled = (value: number, factor: number): number => clamp(Math.ceil(value * factor))

export const addSizes = (left: Size, right: Size): Size => ({
  min: add(left.min, right.min),
  max: add(left.max, right.max),
})
export const timesSizes = (left: Size, right: Size): Size => ({
  min: times(left.min, right.min),
  max: times(left.max, right.max),
})
export const union = (left: Size, right: Size): Size => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
})
