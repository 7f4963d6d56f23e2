import { option } from '../shared/config/option.ts'
import { oneOf } from '../shared/config/option-types.ts'

/** Defines the option that the kubelet and `kubestage up` share. */
export const tunnelOption = option(oneOf('none', 'vxlan'), {
  default: 'none',
  help: 'With --network pod, as root: how pods reach those of nodes on other machines; vxlan is neither encrypted nor authenticated (docs/security.md)',
})
