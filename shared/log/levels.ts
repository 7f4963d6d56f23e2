/** Holds pino's levels, from the most to the least verbose. */
export const levels = ['trace', 'debug', 'info', 'warn', 'error'] as const
export type Level = (typeof levels)[number]
