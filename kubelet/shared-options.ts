/** Defines the options that `kubestage kubelet` and `kubestage up` share, in the order of their help. */
import { option } from '../shared/config/option.ts'
import { commandMap, durationFrom, flag, oneOf, textMap } from '../shared/config/option-types.ts'
import { containerOptions } from './container-options.ts'
import { backoffOptions } from './containers/backoff-options.ts'
import { evictionOptions } from './eviction/options.ts'
import { verificationOptions } from './images/access/verification-options.ts'
import { imageGarbageOptions } from './images/garbage/options.ts'
import { registryOptions } from './images/registry-options.ts'
import { shutdownOptions } from './node/shutdown-options.ts'

export const imageOptions = { ...registryOptions, ...imageGarbageOptions, ...verificationOptions }

export const separationOptions = {
  isolation: option(oneOf('auto', 'none', 'pod'), {
    default: 'auto',
    help: "Whether a container's processes have their own namespaces; auto: where the machine allows it",
  }),
  network: option(oneOf('host', 'pod'), {
    default: 'host',
    help: "Whether each pod has a network of its own, or shares the machine's",
  }),
  podTunnel: option(oneOf('none', 'vxlan'), {
    default: 'none',
    help: 'With --network pod, as root: how pods reach those of nodes on other machines; vxlan is neither encrypted nor authenticated (docs/security.md)',
  }),
  endpointLag: option(durationFrom({ min: '0s', max: '5m' }), {
    default: 0,
    help: 'With --network pod: how late Services learn of changes of their endpoints, as those of a busy cluster do',
  }),
}

export const podOptions = { ...shutdownOptions, ...backoffOptions, ...evictionOptions, ...containerOptions }

export const hostFilesOption = option(flag, {
  default: false,
  help: "Containers write to the machine's own files; volumes are mounted only where it has their place",
})

export const imageOption = option(commandMap, {
  default: {},
  help: "Program an image stands for: 'nginx:*=/usr/sbin/nginx'; repeatable",
})

export const imageStopSignalOption = option(textMap, {
  default: {},
  help: "Signal that asks an image's program to end, instead of SIGTERM: 'nginx:*=SIGQUIT'; repeatable",
})

export const shortenRunningKillsOption = option(flag, {
  default: false,
  help: 'A second DELETE that leaves less time shortens a kill that has begun; a real kubelet goes on as it was',
})
