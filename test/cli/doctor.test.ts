/** What `kubestage doctor` advises on machines that are not at hand. */
import t from 'tap'
import type { MachineKind } from '../../cli/doctor/machine-kind.ts'
import { type Level, missingPorts, missingUsers, nextLevel } from '../../cli/doctor/next-level.ts'

const linux: MachineKind = {
  platform: 'linux',
  inContainer: false,
  isRoot: false,
  hasUsers: false,
  hasSubordinates: false,
  firstPort: 1024,
}
const cases: [what: string, level: Level, machine: Partial<MachineKind>, advice: RegExp | undefined][] = [
  ['root has all', 'networks', { isRoot: true }, undefined],
  ['macOS', 'programs', { platform: 'darwin' }, /^macOS has no namespaces: use a virtual machine with Linux/],
  ['Windows', 'programs', { platform: 'win32' }, /^win32 has no namespaces: use WSL 2/],
  ['WSL 1', 'programs', { wsl: 1, isRoot: true }, /wsl --set-version DISTRIBUTION 2/],
  ['WSL 2 is a Linux', 'programs', { wsl: 2, noUsers: 'limit' }, /sysctl user.max_user_namespaces=10000/],
  ['a container', 'programs', { inContainer: true, isRoot: true }, /run this container with --privileged$/],
  ['a container of a user', 'programs', { inContainer: true }, /with --privileged, or as root of it/],
  ['Ubuntu from 24.04 on', 'programs', { noUsers: 'apparmor' }, /apparmor_restrict_unprivileged_userns=0; or try sudo/],
  ['old Debian', 'programs', { noUsers: 'clone' }, /sysctl kernel.unprivileged_userns_clone=1/],
  ['an ordinary user', 'processes', { inContainer: true }, /^files of its own need root and overlayfs: try sudo$/],
  ['one with further users', 'processes', { hasSubordinates: true }, /try sudo, or unshare .*--map-auto/],
]
for (const [what, level, machine, advice] of cases)
  t.test(what, async (t) => {
    const found = nextLevel(level, { ...linux, ...machine })
    if (advice) t.match(found, advice)
    else t.equal(found, undefined)
  })

t.test('users and ports', async (t) => {
  t.equal(missingUsers({ ...linux, isRoot: true, hasUsers: true }), undefined)
  t.equal(missingUsers({ ...linux, hasUsers: true }), undefined, 'root of a namespace of many users')
  t.match(missingUsers(linux), 'usermod --add-subuids')
  t.match(missingUsers({ ...linux, hasSubordinates: true }), 'unshare --map-root-user --map-auto')
  t.match(missingPorts(linux), 'sysctl net.ipv4.ip_unprivileged_port_start=80')
  t.equal(missingPorts({ ...linux, firstPort: 0 }), undefined)
  t.equal(missingPorts({ ...linux, platform: 'darwin' }), undefined)
})
