import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import { builtPrograms, type EtcdProgram, type RunningEtcd, startEtcd } from './etcd.ts'
import { run } from './run.ts'
import { scratchFolder } from './scratch.ts'

/** Debian's, which speaks to any etcd of version 3. */
const etcdctlFile = 'etcdctl'
/** Since 3.6 snapshots are restored by a program of its own. */
const etcdutlFiles = ['etcdutl', join(builtPrograms, 'etcdutl')]

const isThere = (file: string): boolean => spawnSync(file, ['version']).status === 0
const restorerOf = ({ version }: EtcdProgram): string | undefined =>
  (/^3\.[45]\./.test(version) ? [etcdctlFile] : etcdutlFiles).find(isThere)

/** Why the tools of this etcd cannot be tested with; undefined where they are there. */
export function missingTools(program: EtcdProgram): string | undefined {
  if (!isThere(etcdctlFile)) return 'no etcdctl on the PATH (Debian: apt-get install etcd-client)'
  return restorerOf(program) ? undefined : 'no etcdutl on the PATH (built by .ci/run in test/toolchains/bin)'
}

/** What `etcdctl ARGS` prints. Rejects with its output when it fails. */
export const etcdctl = ({ url }: Pick<RunningEtcd, 'url'>, ...args: string[]): Promise<string> =>
  told(etcdctlFile, [`--endpoints=${url}`, ...args])

/** An etcd made of a snapshot at the addresses of another, which ends. `args`: of the restore. */
export async function restoreEtcd(
  t: Test,
  program: EtcdProgram,
  { file, instead, args = [] }: { file: string; instead: RunningEtcd; args?: readonly string[] },
): Promise<RunningEtcd> {
  const dataDir = join(scratchFolder(t, 'etcd-restored'), 'data')
  const member = ['--initial-cluster', `default=${instead.peer}`, '--initial-advertise-peer-urls', instead.peer]
  await told(restorerOf(program)!, ['snapshot', 'restore', file, '--data-dir', dataDir, ...member, ...args])
  return startEtcd(t, program, { instead, dataDir, peer: instead.peer })
}

async function told(file: string, args: string[]): Promise<string> {
  const { code, output } = (await run(file, args, { env: { ETCDCTL_API: '3' }, timeoutMs: 60_000 }))!
  if (code !== 0) throw new Error(`${file} ${args.join(' ')}: ${output}`)
  return output
}
