/** What a container asks for and a node cannot give: an event, or with `--strict` a refusal. */
import t from 'tap'
import { notApplied, type WantedRights } from '../../kubelet/containers/not-applied.ts'
import type { RuntimeCapabilities } from '../../kubelet/runtime/container-runtime.ts'
import { whyRefused } from '../../kubelet/runtime/process/network/port-refused.ts'
import type { Container, PodSpec } from '../../shared/api/types.ts'

const root: RuntimeCapabilities = {
  isolation: 'pod',
  files: 'own',
  seccomp: 'always',
  users: true,
  ownUsers: true,
  limits: ['cpu', 'memory', 'pids'],
}
const ordinary: RuntimeCapabilities = { isolation: 'pod', files: 'mounts', seccomp: 'always', ownUsers: true }
const plain: RuntimeCapabilities = { isolation: 'none', files: 'host', seccomp: 'noNewPrivileges', users: true }

const everything: Partial<Container> = {
  securityContext: { privileged: true, readOnlyRootFilesystem: true },
  resources: { limits: { cpu: '1', memory: '1Gi' } },
}
const wanted = (
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
  more: Partial<WantedRights> = {},
): WantedRights => ({
  pod: { metadata: { name: 'web' }, spec: { containers: [], ...spec } },
  container: { name: 'main', ...container },
  ofImage: false,
  ...more,
})
const all = wanted(
  everything,
  { hostUsers: false },
  { user: { uid: 1000, gid: 2000, groups: [3000] }, seccomp: { name: 'RuntimeDefault' } },
)
const eventsOf = (...of: Parameters<typeof notApplied>) => notApplied(...of).map(({ event }) => event)
const messagesOf = (...of: Parameters<typeof notApplied>) => notApplied(...of).map(({ message }) => message)

t.test('what is not applied', async (t) => {
  t.same(notApplied({ ...all, ofImage: true }, root), [], 'root gives all to a container of an image')
  t.same(eventsOf(all, root), ['HostUsersNotApplied'], 'programs of the machine keep its users')
  t.same(notApplied(wanted({}), plain), [], 'nothing is missing where nothing is asked for')
  t.same(messagesOf(all, ordinary), [
    'user 1000, group 2000, groups 3000 not applied: the kubelet is an ordinary user without further users',
    'hostUsers: false is not applied: programs of this machine keep its users',
    'privileged: true is not applied: the kubelet is an ordinary user',
    'readOnlyRootFilesystem: true is not applied: containers have no files of their own here',
    'limits of cpu and memory are not applied: see --limits of the kubelet',
  ])
  t.same(eventsOf({ ...all, ofImage: true }, ordinary), ['UserNotApplied', undefined, undefined])
  t.same(eventsOf(all, plain), ['SeccompNotApplied', 'HostUsersNotApplied', 'ReadOnlyRootNotApplied', undefined])
  const cannotGain = wanted({ securityContext: { allowPrivilegeEscalation: false } }, {}, { seccomp: { name: 'x' } })
  t.same(notApplied(cannotGain, plain), [])
})

t.test('a host port that is refused says how to get it', async (t) => {
  const error = (code: string) => Object.assign(new Error(`listen ${code}`), { code })
  t.equal(
    whyRefused(80, error('EACCES'), 1024),
    'host port 80 cannot be opened: the kernel keeps ports below 1024 for root; ' +
      'run sysctl net.ipv4.ip_unprivileged_port_start=80 as root, or choose a hostPort from 1024 on',
  )
  t.equal(
    whyRefused(8080, error('EADDRINUSE'), 1024),
    'host port 8080 cannot be opened: another program of this machine has it',
  )
  t.equal(whyRefused(8080, error('EACCES'), 1024), 'host port 8080 cannot be opened: listen EACCES')
})
