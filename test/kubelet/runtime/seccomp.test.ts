/** System calls that are refused to containers: real programs that make them. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { processRights } from '../../../kubelet/containers/process-rights.ts'
import { seccompChoice } from '../../../kubelet/containers/seccomp-choice.ts'
import type { ContainerConfig, ExecResult, SeccompChoice } from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { callNumbers } from '../../../kubelet/runtime/process/seccomp/call-numbers.ts'
import { filterOf } from '../../../kubelet/runtime/process/seccomp/filter.ts'
import type { SeccompCondition, SeccompProfile } from '../../../kubelet/runtime/process/seccomp/profile.ts'
import type { Container, Pod } from '../../../shared/api/types.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { configOf, type Node, sandboxOf, sh, startNode } from './runtime-node.ts'

const calls = callNumbers(process.arch)
const number = (name: string): number => calls.get(name) ?? -1

async function nodeFor(t: Test): Promise<Node | undefined> {
  const capabilities = await possibleIsolation({ rootDir: t.testdir() })
  if (capabilities.files !== 'own') return void skipOrFail(t, 'this machine lets us mount nothing')
  return startNode(t, capabilities)
}

let attempts = 0
async function beside(node: Node, script: string, config: Partial<ContainerConfig>): Promise<ExecResult> {
  const sandbox = await sandboxOf(node.runtime, `p${attempts++}`)
  const { id } = await node.runtime.startContainer(configOf(node, sandbox, ['sleep', '1000'], config))
  const result = await node.runtime.execSync(id, { command: sh(script) })
  await node.runtime.stopContainer(id, { signal: 'KILL', gracePeriodMs: 0 })
  return result
}

/** Makes a call, and prints the number of its error, or 0. */
const made = (name: string, ...args: (number | string)[]): string =>
  `perl -e 'print syscall(${[number(name), ...args].join(',')}) < 0 ? $! + 0 : 0, "\\n"'`
const [notPermitted, noSuchCall] = [1, 38]

t.test('RuntimeDefault refuses what containerd’s profile refuses, whoever the user is', async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const script = [
    'grep ^Seccomp: /proc/self/status | tr "\\t" " "',
    made('keyctl', 0, 0, 0),
    made('unshare', 0x10000000),
    made('clone3', 0, 0),
    `${made('personality', '0xffffffff')} | grep -c .`,
    made('personality', 0x40000),
    made('socket', 40, 1, 0),
    made('getpid'),
    'echo $(echo forked)',
  ].join('; ')
  const wanted = ['Seccomp: 2', notPermitted, notPermitted, noSuchCall, 1, notPermitted, notPermitted, 0, 'forked']
  const seccomp: SeccompChoice = { name: 'RuntimeDefault' }
  for (const user of [undefined, { uid: 1000, groups: [] }]) {
    const result = await beside(node, script, { seccomp, rights: processRights({}), ...(user && { user }) })
    t.same(result.output.trim().split('\n'), wanted.map(String), `user ${user?.uid ?? 0}`)
  }
  const without = await beside(node, made('unshare', 0x10000000), { rights: processRights({}) })
  t.equal(without.output, '0\n', 'a container without a profile may')
  const admin = processRights({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } })
  const withRight = await beside(node, made('unshare', 0x04000000), { seccomp, rights: admin })
  t.equal(withRight.output, '0\n', 'and one with the capability that the call is for')
})

t.test('a profile of a file refuses what it says', async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const refuse = (name: string, errnoRet: number, args?: SeccompCondition[]) => ({
    names: [name, 'unknown_call'],
    action: 'SCMP_ACT_ERRNO',
    errnoRet,
    ...(args && { args }),
  })
  const profile: SeccompProfile = {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [
      refuse('mkdir', 28),
      refuse('mkdirat', 28),
      refuse('getpgid', 11, [{ index: 0, op: 'SCMP_CMP_GE', value: 5 }]),
    ],
  }
  const seccomp: SeccompChoice = { name: '/profile.json', text: JSON.stringify(profile) }
  const script = `mkdir /tmp/x; ${made('getpgid', 0)}; ${made('getpgid', 5)}`
  const result = await beside(node, script, { seccomp, rights: processRights({}) })
  t.match(result.output, /No space left on device\n0\n11\n$/)
  const text = '{"defaultAction":"SCMP_ACT_FLY"}'
  await t.rejects(
    beside(node, 'true', { seccomp: { name: '/bad.json', text } }),
    /failed to load seccomp profile "\/bad.json": it asks for SCMP_ACT_FLY, which is not known/,
  )
})

/** Runs a filter as the kernel does, on a call with its first argument. */
function run(filter: Buffer, call: number, argument: bigint): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call, 0)
  data.writeUInt32LE(0xc000003e, 4)
  data.writeBigUInt64LE(argument, 16)
  let accumulator = 0
  for (let at = 0; ; at++) {
    const [code, number] = [filter.readUInt16LE(8 * at), filter.readUInt32LE(8 * at + 4)]
    const jump = (holds: boolean): number => filter.readUInt8(8 * at + (holds ? 2 : 3))
    if (code === 0x06) return number
    if (code === 0x20) accumulator = data.readUInt32LE(number)
    else if (code === 0x54) accumulator = (accumulator & number) >>> 0
    else if (code === 0x15) at += jump(accumulator === number)
    else if (code === 0x25) at += jump(accumulator > number)
    else at += jump(accumulator >= number)
  }
}

t.test('conditions look at all 64 bits of an argument', async (t) => {
  const large = 2 ** 33 + 7
  const holds: Record<string, (argument: bigint) => boolean> = {
    SCMP_CMP_EQ: (argument) => argument === BigInt(large),
    SCMP_CMP_NE: (argument) => argument !== BigInt(large),
    SCMP_CMP_GT: (argument) => argument > BigInt(large),
    SCMP_CMP_GE: (argument) => argument >= BigInt(large),
    SCMP_CMP_LT: (argument) => argument < BigInt(large),
    SCMP_CMP_LE: (argument) => argument <= BigInt(large),
    SCMP_CMP_MASKED_EQ: (argument) => (argument & BigInt(large)) === 3n,
  }
  const read = callNumbers('x64').get('read') ?? -1
  for (const [op, isTrue] of Object.entries(holds)) {
    const condition = { index: 0, op, value: large, valueTwo: 3 }
    const rule = { names: ['read'], action: 'SCMP_ACT_ERRNO', args: [condition] }
    const filter = filterOf({ defaultAction: 'SCMP_ACT_ALLOW', syscalls: [rule] }, 'x64')
    for (const argument of [0n, 3n, 7n, 8n, 2n ** 33n, 2n ** 33n + 6n, 2n ** 33n + 7n, 2n ** 33n + 8n, 2n ** 40n]) {
      const wanted = isTrue(argument) ? 0x00050001 : 0x7fff0000
      t.equal(run(filter, read, argument), wanted, `${op} of ${argument}`)
      t.equal(run(filter, read + 1, argument), 0x7fff0000)
    }
  }
  const filter = filterOf({ defaultAction: 'SCMP_ACT_ALLOW' }, 'x64')
  t.equal(run(filter, 0x40000000 + read, 0n), 0x00050001, 'calls of another kind are refused')
})

t.test('the container’s profile counts before its pod’s, and privileged has none', async (t) => {
  const rootDir = t.testdir()
  mkdirSync(path.join(rootDir, 'seccomp'))
  writeFileSync(path.join(rootDir, 'seccomp', 'own.json'), '{}')
  const of = (ofPod: object | undefined, securityContext?: Container['securityContext']) =>
    seccompChoice(
      { metadata: {}, spec: { containers: [], securityContext: ofPod } } as Pod,
      { name: 'c', securityContext },
      rootDir,
    )
  const byDefault = { seccompProfile: { type: 'RuntimeDefault' } }
  t.equal(of(undefined), undefined)
  t.same(of(byDefault), { name: 'RuntimeDefault' })
  t.equal(of(byDefault, { seccompProfile: { type: 'Unconfined' } }), undefined)
  t.equal(of(byDefault, { privileged: true }), undefined)
  const file = { seccompProfile: { type: 'Localhost', localhostProfile: 'own.json' } }
  t.same(of(byDefault, file), { name: path.join(rootDir, 'seccomp/own.json'), text: '{}' })
  const missing = { seccompProfile: { type: 'Localhost', localhostProfile: 'no.json' } }
  t.throws(() => of(missing), /failed to load seccomp profile ".*no.json": open .*no.json: no such file or directory/)
})
