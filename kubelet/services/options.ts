import { option } from '../../shared/config/option.ts'
import { durationFrom } from '../../shared/config/option-types.ts'

/** Defines what the kubelet and `kubestage up` share of the options of Services. */
export const serviceOptions = {
  endpointLag: option(durationFrom({ min: '0s', max: '5m' }), {
    default: 0,
    help: 'With --network pod: how late Services learn of changes of their endpoints, as those of a busy cluster do',
  }),
}
