import { option } from '../../shared/config/option.ts'
import { decimal, duration, names, text, wholeNumber } from '../../shared/config/option-types.ts'
import { exitCodes } from './exit-codes.ts'

/** What `kubestage rehearse` can be told beside what a cluster can be told. */
export const rehearseOptions = {
  ways: option(names, { default: [], help: 'Only these ways to die; repeatable. By default all (below)' }),
  load: option(text, {
    default: '',
    help: 'Send requests here while it dies: http://pod:8080/, where pod stands for its address',
  }),
  endpointDelay: option(duration, {
    default: 2_000,
    help: 'How long others still send requests to a pod that has begun to end',
  }),
  maxGraceUsed: option(decimal({ min: 1, max: 100, placeholder: 'PERCENT' }), {
    default: 80,
    help: 'How much of its grace a hook, or a stop, may need',
  }),
  maxLivenessDowntime: option(duration, {
    default: 60_000,
    help: 'How long a container that hangs may be there, from the first failed liveness probe to its end',
  }),
  maxLostRequests: option(wholeNumber({ min: 0, max: 1_000_000, placeholder: 'COUNT' }), {
    default: 0,
    help: 'How many requests may be lost in a way',
  }),
  allowedExitCodes: option(exitCodes, { default: [0], help: 'Exit codes that mean a good end; repeatable' }),
  readyTimeout: option(duration, { default: 60_000, help: 'How long a pod may take to be ready, by your own clock' }),
  realTimeLimit: option(duration, {
    default: 120_000,
    help: 'How long a death may take that is tried again in real time, since faster time leaves it in doubt',
  }),
  jobs: option(wholeNumber({ min: 1, max: 100, placeholder: 'COUNT' }), {
    default: 8,
    help: 'How many pods at a time',
  }),
}
