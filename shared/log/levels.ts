/** In pino's words, most talkative first. */
export const levels = ['trace', 'debug', 'info', 'warn', 'error'] as const
export type Level = (typeof levels)[number]
