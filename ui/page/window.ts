import type { TimeWindow } from '../views/time-axis.ts'

/** The narrowest window, in milliseconds. */
const leastMs = 20

export function zoomed({ fromMs, toMs }: TimeWindow, factor: number, share = 0.5): TimeWindow {
  const size = Math.max((toMs - fromMs) * factor, leastMs)
  const fixedMs = fromMs + (toMs - fromMs) * share
  return { fromMs: fixedMs - size * share, toMs: fixedMs + size * (1 - share) }
}

export function panned({ fromMs, toMs }: TimeWindow, share: number): TimeWindow {
  const by = (toMs - fromMs) * share
  return { fromMs: fromMs + by, toMs: toMs + by }
}

/** Returns the window after a key was pressed; undefined if the key does not change it. */
export function windowAfterKey(key: string, window: TimeWindow, whole: TimeWindow): TimeWindow | undefined {
  const size = window.toMs - window.fromMs
  if (key === 'ArrowLeft') return panned(window, -0.15)
  if (key === 'ArrowRight') return panned(window, 0.15)
  if (key === '+' || key === '=') return zoomed(window, 0.6)
  if (key === '-') return zoomed(window, 1 / 0.6)
  if (key === 'Home') return { fromMs: whole.fromMs, toMs: whole.fromMs + size }
  if (key === 'End') return { fromMs: whole.toMs - size, toMs: whole.toMs }
  return key === '0' ? whole : undefined
}

export const centred = ({ fromMs, toMs }: TimeWindow, atMs: number): TimeWindow => {
  const half = (toMs - fromMs) / 2
  return { fromMs: atMs - half, toMs: atMs + half }
}
