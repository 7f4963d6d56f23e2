import type { Clock } from '../clock/clock.ts'
import { scaledClock } from '../clock/scaled-clock.ts'
import { option } from './option.ts'
import { decimal, instant } from './option-types.ts'

/** Above this, a step takes the machine longer than any wait between two steps. */
const fastest = 1_000

export const timeScaleOption = option(decimal({ min: 1, max: fastest, placeholder: 'FACTOR' }), {
  default: 1,
  help: 'Waits of the kubelet and the controllers, and the timestamps of the API, run so many times faster',
})
/** Programs that are started one by one agree on the time with this option. */
export const timeOriginOption = option(instant, {
  default: 0,
  help: 'When the faster time began, the same for all; by default when the program starts',
})

export const clusterClock = (machine: Clock, options: { timeScale: number; timeOrigin: number }): Clock =>
  scaledClock(machine, { scale: options.timeScale, originMs: options.timeOrigin || machine.now() })
