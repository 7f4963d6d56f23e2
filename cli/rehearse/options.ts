import { option } from '../../shared/config/option.ts'
import { decimal, duration, names, text, wholeNumber } from '../../shared/config/option-types.ts'
import { endpointDelay } from '../load/endpoint-delay.ts'
import { exitCodes } from './exit-codes.ts'

/** Defines the options that `kubestage rehearse` has beside those of a cluster. */
export const rehearseOptions = {
  ways: option(names, { default: [], help: 'Only these ways; repeatable. By default all (below)' }),
  load: option(text, {
    default: '',
    help: "Send requests to this URL meanwhile: http://pod:8080/, where pod stands for the pod's address",
  }),
  endpointDelay,
  maxGraceUsed: option(decimal({ min: 1, max: 100, placeholder: 'PERCENT' }), {
    default: 80,
    help: 'How much of the grace period a hook, or a stop, may need',
  }),
  maxLivenessDowntime: option(duration, {
    default: 60_000,
    help: 'Longest time from the first failed liveness probe of a container to its end',
  }),
  maxLostRequests: option(wholeNumber({ min: 0, max: 1_000_000, placeholder: 'COUNT' }), {
    default: 0,
    help: 'How many requests each way may lose',
  }),
  allowedExitCodes: option(exitCodes, { default: [0], help: 'Exit codes that count as success; repeatable' }),
  readyTimeout: option(duration, { default: 60_000, help: 'How long a pod may take to be ready, in real time' }),
  realTimeLimit: option(duration, {
    default: 120_000,
    help: 'Longest shutdown to repeat in real time when the accelerated result is inconclusive',
  }),
  jobs: option(wholeNumber({ min: 1, max: 100, placeholder: 'COUNT' }), {
    default: 8,
    help: 'How many pods at a time',
  }),
}
