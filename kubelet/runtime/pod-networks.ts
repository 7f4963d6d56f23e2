import type { ContainerRuntime } from './container-runtime.ts'

/** Returns whether a pod's network is not the machine's. */
export const hasPodNetworks = ({ network, reachesPods }: Pick<ContainerRuntime, 'network' | 'reachesPods'>): boolean =>
  network !== undefined || reachesPods === true
