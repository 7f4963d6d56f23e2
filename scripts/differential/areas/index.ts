/** What cases may be about. Each area makes a case from a seed. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { Case } from '../case.ts'
import { makeCluster } from './cluster.ts'
import { makeCustom } from './custom.ts'
import { makeDelete } from './deletes.ts'
import { makeList } from './lists.ts'
import { makePaths } from './paths.ts'
import { makeSubresource } from './subresources.ts'
import { makeWatch } from './watches.ts'
import { makeWriters } from './writers.ts'

export const areas = {
  custom: makeCustom,
  subresources: makeSubresource,
  lists: makeList,
  watches: makeWatch,
  writers: makeWriters,
  deletes: makeDelete,
  cluster: makeCluster,
  paths: makePaths,
} satisfies Record<string, (random: Random) => Case>
