import t from 'tap'
import { openEtcdStorage } from '../../../apiserver/storage/etcd/etcd.ts'
import type { Storage } from '../../../apiserver/storage/storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { etcdPrograms, missingEtcd, type RunningEtcd, startEtcd } from '../../harness/etcd.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { storageSuite } from './suite.ts'

const open = ({ url }: RunningEtcd): Promise<Storage> =>
  openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of programs) {
  storageSuite(`etcd ${program.version}`, async () => open(await startEtcd(t, program)))
}
