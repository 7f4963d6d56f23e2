/** System V shared memory: of a pod, of other pods, and of the machine. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { RuntimeCapabilities, SandboxConfig } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, sandboxOf, startNode, texts } from './runtime-node.ts'

const key = 0x4b_53_00_00 + (process.pid & 0xffff)
/** Prints the segment's number, or nothing. */
const find = `print shmget(${key}, 0, 0) // "", "\n"`
const make = `print shmget(${key}, 100, 0600 | 01000) // "failed: $!", "\n"`
const remove = 'shmctl($_, 0, 0) for map { (split)[1] } grep { /\\d/ } `cat /proc/sysvipc/shm`; print "done\n"'
const perl = (script: string) => ['perl', '-e', script]
const onMachine = (script: string) => execFileSync('perl', ['-e', script], { encoding: 'utf8' }).trim()

function machineSegment(t: Test): string {
  const segment = onMachine(make)
  t.teardown(() => onMachine(`shmctl(${segment}, 0, 0)`))
  return segment
}

async function isolated(t: Test, files: RuntimeCapabilities['files']): Promise<void> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  if (possible.isolation !== 'pod' || (files === 'own' && possible.files !== 'own'))
    return skipOrFail(t, 'this machine gives us no namespaces')
  const segment = machineSegment(t)
  const node = await startNode(t, { isolation: 'pod', files })
  let { runtime } = node
  let attempt = 0
  const run = async (sandboxId: string, script: string): Promise<string[]> => {
    const sandbox = (await runtime.list()).sandboxes.find(({ id }) => id === sandboxId)
    if (!sandbox) throw new Error('no sandbox')
    const { id, logPath } = await runtime.startContainer(configOf(node, sandbox, perl(script), { attempt: ++attempt }))
    await exited(runtime, id)
    return texts(logPath)
  }
  const one = await sandboxOf(runtime, 'one')
  const other = await sandboxOf(runtime, 'other')
  const config: SandboxConfig = { ...one, podUid: 'host', name: 'host', hostIPC: true }
  const host = await runtime.startSandbox(config)

  t.same(await run(one.id, find), [''], 'it does not see the machine’s')
  const [own = ''] = await run(one.id, make)
  t.match(own, /^\d+$/)
  t.same(await run(one.id, find), [own], 'containers of a pod share theirs')
  t.same(await run(other.id, remove), ['done'])
  t.same(await run(one.id, find), [own], 'another pod cannot remove it')
  t.same(await run(host.id, find), [segment], 'with hostIPC it sees the machine’s')
  t.equal(onMachine(find), segment, 'which is still there')

  await runtime.close()
  runtime = await node.again()
  t.same(await run(one.id, find), [own], 'also after a restart of the kubelet')
  const sleeper = await runtime.startContainer(configOf(node, one, ['sleep', '1000'], { name: 'sleeper' }))
  t.match(await runtime.execSync(sleeper.id, { command: perl(find) }), { output: `${own}\n` })

  const shim = readFileSync(path.join(node.rootDir, 'runtime', 'shim.pid'), 'utf8').trim()
  const held = () => readdirSync(`/proc/${shim}/fd`).filter((fd) => isIpc(`/proc/${shim}/fd/${fd}`)).length
  t.equal(held(), 3, 'the shim holds its own and those of two pods')
  await runtime.stopContainer(sleeper.id, { signal: 'TERM', gracePeriodMs: 0 })
  await runtime.removeSandbox(one.id)
  await until(() => held() === 2, { what: 'the namespace to be gone with its pod' })
}

function isIpc(link: string): boolean {
  try {
    return readlinkSync(link).startsWith('ipc:')
  } catch {
    return false
  }
}

for (const files of ['host', 'mounts', 'own'] as const)
  t.test(`pods do not share System V IPC with each other, nor with the machine; files: ${files}`, (t) =>
    isolated(t, files),
  )
