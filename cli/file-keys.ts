import { clusterOptions } from '../cluster/settings.ts'
import type { Options } from '../shared/config/option.ts'
import { rehearseOptions } from './rehearse/options.ts'

const { config: _, ...clusterKeys } = clusterOptions

/** Contains the keys of kubestage.yaml that configure a cluster. */
export { clusterKeys }
/** Contains all keys that kubestage.yaml may have, whichever command reads the file. */
export const fileKeys = { ...clusterKeys, ...rehearseOptions } satisfies Options
