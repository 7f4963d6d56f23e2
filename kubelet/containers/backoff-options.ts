import { type Options, option, type Values } from '../../shared/config/option.ts'
import { duration } from '../../shared/config/option-types.ts'
import type { RestartBackoffOptions } from './restart-backoff.ts'

/** Defines how long a container that ends repeatedly waits for its next start. The first restart never waits. */
export const backoffOptions = {
  crashLoopBackOffInitial: option(duration, {
    default: 10_000,
    help: 'Wait before the second restart of a container that ends again; doubled each time',
  }),
  crashLoopBackOffMax: option(duration, { default: 300_000, help: 'What that wait grows to at most' }),
} satisfies Options

export const backoffConfig = (values: Values<typeof backoffOptions>): RestartBackoffOptions => ({
  initialMs: values.crashLoopBackOffInitial,
  maxMs: values.crashLoopBackOffMax,
})
