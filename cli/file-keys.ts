import { clusterOptions } from '../cluster/settings.ts'
import type { Options } from '../shared/config/option.ts'
import { rehearseOptions } from './rehearse/options.ts'

const { config: _, ...clusterKeys } = clusterOptions

/** What a cluster can be told in kubestage.yaml. */
export { clusterKeys }
/** All that may stand there, whichever command reads it. */
export const fileKeys = { ...clusterKeys, ...rehearseOptions } satisfies Options
