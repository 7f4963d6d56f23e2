import { join } from 'node:path'
import t from 'tap'
import { etcdPrograms, noEtcd } from '../harness/etcd.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { buildChecker } from './checker.ts'
import { type StormOptions, storm } from './storm.ts'

const times = (count: number, name: string): string[] => Array.from({ length: count }, () => name)

/** `npm run robustness` goes on for as long as it is told. */
const seed = 15
const samples: Record<string, Pick<StormOptions, 'storage' | 'servers' | 'faults'>> = {
  sqlite: {
    storage: 'sqlite',
    faults: [...times(5, 'kill a server'), 'fill the disk and kill the server', 'move the clock of a server'],
  },
  'a file that three servers share': {
    storage: 'sqlite',
    servers: 3,
    // First: a guardian gives up where no server lives after the holder has ended five times, each within a minute.
    faults: [
      'kill all servers at once',
      ...times(4, 'kill a server'),
      'halt a server',
      'fill the disk and kill the server',
    ],
  },
  'memory that three servers share': {
    storage: 'memory',
    servers: 3,
    faults: [...times(5, 'kill a server'), 'kill all servers at once', ...times(2, 'halt a server')],
  },
  etcd: {
    storage: 'etcd',
    servers: 2,
    faults: [
      ...times(2, 'kill a server'),
      ...times(3, 'kill etcd'),
      'kill all servers at once',
      'cut a server off from etcd',
      'use up the quota of etcd',
      'move the clock of a server',
    ],
  },
}
/** So many processes each kills. */
const kills = 6

t.setTimeout(280_000)
// Each waits for processes most of the time.
t.jobs = Object.keys(samples).length
const [program] = etcdPrograms()
const checker = join(scratchFolder(t, 'checker'), 'checker')
const obstacle = await buildChecker(checker)

for (const [name, options] of Object.entries(samples)) {
  t.test(
    `${kills} kills on ${name}: no acknowledged write is lost, and every history is linearizable`,
    { buffered: true },
    async (t) => {
      if (obstacle) return skipOrFail(t, obstacle)
      if (name === 'etcd' && !program) return skipOrFail(t, noEtcd)
      const said: string[] = []
      const report = await storm(t, {
        ...options,
        program,
        checker,
        seed,
        operations: 10,
        say: (line) => said.push(line),
      })
      t.same(report.violations, [], said.join('\n'))
      if (options.faults!.length > report.histories) return skipOrFail(t, 'this user may not mount: no full disk')
      t.equal(report.kills, kills)
      t.equal(report.histories, options.faults!.length)
      t.equal(report.replayedWatches, report.histories * (options.servers ?? 1), 'each server told again what was seen')
      t.ok(report.expiredWatches <= (options.storage === 'sqlite' ? 1 : 0), 'only a full disk forgets')
      t.ok(report.operations > 500, `${report.operations} operations were checked`)
    },
  )
}
