/** A test of the harness: each bug that is planted in a server must be found within the budget of the sample. */
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
const loader = pathToFileURL(join(import.meta.dirname, 'plant.mjs')).href

for (const { name, storm: options, finding, ...planted } of plantedBugs) {
  await t.test(`it is found that ${name}`, async (t) => {
    if (obstacle) return skipOrFail(t, obstacle)
    if (options.storage === 'etcd' && !program) return skipOrFail(t, noEtcd)
    const variables = { NODE_OPTIONS: `--import=${loader}`, PLANTED_BUG: JSON.stringify(planted) }
    const said: string[] = []
    const say = (line: string): void => void said.push(line)
    const report = await storm(t, { ...options, program, checker, variables, seed: 15, operations: 20, say })
    t.match(report.violations.join('\n'), finding, said.join('\n'))
  })
}
