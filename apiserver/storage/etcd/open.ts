import type { OpenOptions, Storage } from '../engine.ts'
import { openEtcdStorage } from './etcd.ts'
import { readTls } from './tls-files.ts'

/** Etcd as the command line names it. Rejects with a ConfigError, one sentence, when it cannot be used. */
export async function openEtcd(endpoints: readonly string[], options: OpenOptions): Promise<Storage> {
  const { clock, onRoom, onTrouble, etcdPrefix = '/registry' } = options
  return openEtcdStorage({
    endpoints,
    tls: readTls(options),
    prefix: etcdPrefix,
    clock: clock.machine,
    onRoom,
    onTrouble,
  })
}
