import { option } from '../../shared/config/option.ts'
import { flag } from '../../shared/config/option-types.ts'

/** Defines the flag of commands about data that each API server keeps for itself. */
export const thisServerOption = option(flag, {
  default: false,
  help: 'Ask only the API server of the kubeconfig, where several have the same objects',
})

/** The path as it is asked for. */
export const ofServer = (path: string, { thisServer }: { thisServer: boolean }): string =>
  thisServer ? `${path}${path.includes('?') ? '&' : '?'}server=this` : path
