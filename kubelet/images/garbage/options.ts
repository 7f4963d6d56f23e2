import { option, UsageError, type Values } from '../../../shared/config/option.ts'
import { duration, wholeNumber } from '../../../shared/config/option-types.ts'

const percent = wholeNumber({ min: 0, max: 100, placeholder: 'PERCENT' })
const minute = 60_000

/** Says which images a kubelet removes, and when. */
export interface ImageGarbagePolicy {
  highThresholdPercent: number
  lowThresholdPercent: number
  minimumAgeMs: number
  /** 0: images do not age. */
  maximumAgeMs: number
}

/** Defines when pulled images are removed again, with the defaults and bounds of upstream. */
export const imageGarbageOptions = {
  imageGcHighThreshold: option(percent, {
    default: 85,
    help: 'Remove pulled images that no container uses, when so much of the disk is used; 100: never',
  }),
  imageGcLowThreshold: option(percent, { default: 80, help: 'Remove them until only so much of the disk is used' }),
  imageMinimumGcAge: option(duration, { default: 2 * minute, help: 'Keep an image at least for so long' }),
  imageMaximumGcAge: option(duration, {
    default: 0,
    help: 'Remove a pulled image that no container has used for so long; 0: however long',
  }),
  nodeStatusMaxImages: option(wholeNumber({ min: -1, max: 100_000, placeholder: 'COUNT' }), {
    default: 50,
    help: "How many images the node's status shows, the largest first; -1: all",
  }),
}

export const neverCollect: ImageGarbagePolicy = {
  highThresholdPercent: 100,
  lowThresholdPercent: 100,
  minimumAgeMs: 0,
  maximumAgeMs: 0,
}

/** Throws a UsageError for values that do not fit together. */
export function imageGarbagePolicy(values: Values<typeof imageGarbageOptions>): ImageGarbagePolicy {
  const { imageGcHighThreshold: high, imageGcLowThreshold: low } = values
  const { imageMinimumGcAge: minimumAgeMs, imageMaximumGcAge: maximumAgeMs } = values
  if (low >= high) throw new UsageError(`imageGcLowThreshold (${low}) must be less than imageGcHighThreshold (${high})`)
  if (maximumAgeMs > 0 && maximumAgeMs <= minimumAgeMs) {
    const [most, least] = [maximumAgeMs, minimumAgeMs].map((ms) => duration.show?.(ms))
    throw new UsageError(`imageMaximumGcAge (${most}) must be greater than imageMinimumGcAge (${least})`)
  }
  return { highThresholdPercent: high, lowThresholdPercent: low, minimumAgeMs, maximumAgeMs }
}
