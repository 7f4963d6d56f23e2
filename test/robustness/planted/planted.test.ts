/** A test of the harness: each bug that is planted in a server must be found within the budget of the sample. */
import '../../harness/from-sources.ts'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { etcdPrograms, noEtcd } from '../../harness/etcd.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { buildChecker } from '../checker.ts'
import { storm } from '../storm.ts'
import { plantedBugs } from './bugs.ts'

t.setTimeout(280_000)
const [program] = etcdPrograms()
const checker = join(scratchFolder(t, 'checker'), 'checker')
const obstacle = await buildChecker(checker)
/** What a client does is decided by chance: on a busy machine few of them may meet the bug in one round. */
const seeds = [15, 16, 17]
const loader = pathToFileURL(join(import.meta.dirname, 'plant.mjs')).href

for (const { name, storm: options, finding, ...planted } of plantedBugs) {
  await t.test(`it is found that ${name}`, async (t) => {
    if (obstacle) return skipOrFail(t, obstacle)
    if (options.storage === 'etcd' && !program) return skipOrFail(t, noEtcd)
    const variables = { NODE_OPTIONS: `--import=${loader}`, PLANTED_BUG: JSON.stringify(planted) }
    const said: string[] = []
    const say = (line: string): void => void said.push(line)
    const found: string[] = []
    for (const seed of seeds) {
      const report = await storm(t, { ...options, program, checker, variables, seed, operations: 20, say })
      found.push(...report.violations)
      if (finding.test(found.join('\n'))) break
    }
    t.match(found.join('\n'), finding, said.join('\n'))
  })
}
