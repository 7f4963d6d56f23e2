/** What a container's processes may ask of the kernel: as a container runtime has it, by its `securityContext`. */
import { statSync } from 'node:fs'
import t from 'tap'
import { processRights } from '../../../kubelet/containers/process-rights.ts'
import { capabilityNames } from '../../../kubelet/runtime/capability-names.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import type { Container } from '../../../shared/api/types.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

type SecurityContext = NonNullable<Container['securityContext']>
const rightsOf = (securityContext?: SecurityContext) => processRights({ securityContext })

t.test('securityContext, read as container runtimes read it', async (t) => {
  const usual = rightsOf().capabilities
  const all = [...capabilityNames]
  const without = (...names: string[]) => usual.filter((name) => !names.includes(name))
  const table: [title: string, context: SecurityContext, capabilities: string[]][] = [
    ['nothing said', {}, usual],
    ['one added', { capabilities: { add: ['SYS_PTRACE'] } }, [...usual, 'SYS_PTRACE']],
    ['in small letters, with its prefix', { capabilities: { add: ['cap_sys_ptrace'] } }, [...usual, 'SYS_PTRACE']],
    ['added twice, and one that is there', { capabilities: { add: ['KILL', 'KILL'] } }, usual],
    ['one that Linux does not know', { capabilities: { add: ['FLY'] } }, usual],
    ['some dropped', { capabilities: { drop: ['NET_RAW', 'CAP_CHOWN'] } }, without('NET_RAW', 'CHOWN')],
    ['all dropped', { capabilities: { drop: ['ALL'] } }, []],
    ['all dropped but one', { capabilities: { drop: ['all'], add: ['NET_BIND_SERVICE'] } }, ['NET_BIND_SERVICE']],
    ['all added', { capabilities: { add: ['ALL'] } }, all],
    [
      'all added but one',
      { capabilities: { add: ['ALL'], drop: ['SYS_ADMIN'] } },
      all.filter((name) => name !== 'SYS_ADMIN'),
    ],
    ['one both added and dropped', { capabilities: { add: ['SYS_TIME'], drop: ['SYS_TIME'] } }, usual],
    ['privileged', { privileged: true }, all],
    ['privileged, whatever is dropped', { privileged: true, capabilities: { drop: ['ALL'] } }, all],
  ]
  for (const [title, context, capabilities] of table)
    t.same([...rightsOf(context).capabilities].sort(), [...capabilities].sort(), title)
  t.equal(usual.length, 13)
  t.notOk(usual.includes('SYS_ADMIN') || usual.includes('MKNOD') || usual.includes('DAC_READ_SEARCH'))
  t.equal(rightsOf({ allowPrivilegeEscalation: false }).noNewPrivileges, true)
  t.equal(rightsOf({ allowPrivilegeEscalation: true }).noNewPrivileges, false)
  t.equal(rightsOf().noNewPrivileges, false)
})

/** The bits of a set, as /proc/PID/status has them. */
const bitsOf = (names: string[]): string =>
  names
    .reduce((sum, name) => sum | (1n << BigInt(capabilityNames.indexOf(name))), 0n)
    .toString(16)
    .padStart(16, '0')
const ask = 'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status | tr "\\t" " "'

t.test('is what its program and every command beside it have', async (t) => {
  const capabilities = await possibleIsolation({ rootDir: t.testdir() })
  if (capabilities.files !== 'own') return skipOrFail(t, 'this machine lets us mount nothing')
  const node = await startNode(t, capabilities)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'rights')
  const contexts: SecurityContext[] = [
    {},
    { capabilities: { drop: ['ALL'] } },
    { capabilities: { add: ['SYS_PTRACE'], drop: ['NET_RAW'] }, allowPrivilegeEscalation: false },
  ]
  for (const [attempt, context] of contexts.entries()) {
    const rights = rightsOf(context)
    const bits = bitsOf([...new Set([...rights.capabilities, 'NET_BIND_SERVICE'])])
    const wanted = [`CapEff: ${bits}`, `CapBnd: ${bits}`, `NoNewPrivs: ${rights.noNewPrivileges ? 1 : 0}`]
    const config = configOf(node, sandbox, sh(`${ask}; sleep 1000`), { rights, attempt, name: `c${attempt}` })
    const { id, logPath } = await runtime.startContainer(config)
    const beside = await runtime.execSync(id, { command: sh(ask) })
    t.same(beside.output.trim().split('\n'), wanted, `a command: ${JSON.stringify(context)}`)
    await until(() => texts(logPath).length === 3, { what: 'its lines in the log' })
    t.same(texts(logPath), wanted, `the program: ${JSON.stringify(context)}`)
    await runtime.stopContainer(id, { signal: 'KILL', gracePeriodMs: 0 })
  }
})

/** Each ends with `got out` when it has left the box. */
const waysOut: Record<string, string> = {
  'put a mount away': 'umount /dev && echo got out',
  'mount a file system': 'mount -t tmpfs none /mnt && echo got out',
  'make a device': 'mknod /tmp/disk b 254 0 && echo got out',
  "change the kernel's settings": 'echo x >/proc/sys/kernel/core_pattern && echo got out',
  "change the machine's control groups":
    'for file in $(find /sys/fs/cgroup -name release_agent -o -name cgroup.procs); do echo 1 >$file && echo got out; done',
  'ask for a restart of the machine': 'test -w /proc/sysrq-trigger && echo got out',
  'see the machine by a root within the root': `perl -e 'mkdir "/in"; chroot "/in"; chdir ".." for 1 .. 30; chroot "."; print "got out\\n" if (stat "/")[0] == $ARGV[0]' $MACHINE`,
  'see it through its process 1': 'test $(stat -c %d /proc/1/root/) = $MACHINE && echo got out',
  'enter the namespaces of another': 'nsenter --target 1 --mount true && echo got out',
  'rename the machine': 'hostname other && echo got out',
  'read its memory': 'head -c 1 /proc/kcore | grep -q . && echo got out',
}

t.test('an unprivileged container does not leave the box', async (t) => {
  const capabilities = await possibleIsolation({ rootDir: t.testdir() })
  if (capabilities.files !== 'own') return skipOrFail(t, 'this machine lets us mount nothing')
  const node = await startNode(t, capabilities)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'box')
  const run = async (name: string, script: string, context: SecurityContext, attempt: number) => {
    const config = configOf(node, sandbox, sh(`{ ${script}; } 2>/dev/null; echo done`), {
      name,
      attempt,
      rights: rightsOf(context),
      env: { MACHINE: String(statSync('/').dev) },
    })
    const { id, logPath } = await runtime.startContainer(config)
    await exited(runtime, id)
    return texts(logPath)
  }
  let attempt = 0
  for (const [title, script] of Object.entries(waysOut)) t.same(await run('c', script, {}, attempt++), ['done'], title)
  t.same(
    await run('p', waysOut['mount a file system'] ?? '', { privileged: true }, attempt++),
    ['got out', 'done'],
    'a privileged one does',
  )
})
