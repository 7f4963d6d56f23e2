import { option } from '../../shared/config/option.ts'
import { duration } from '../../shared/config/option-types.ts'

export const endpointDelay = option(duration, {
  default: 2_000,
  help: 'How long clients still send requests to a pod that has begun to end',
})
