/** What a container asks for and a node cannot give: an event, or with `--strict` a refusal. */
import t from 'tap'
import { notApplied, type WantedRights } from '../../kubelet/containers/not-applied.ts'
import type { RuntimeCapabilities } from '../../kubelet/runtime/container-runtime.ts'
import { whyKept, whyRefused } from '../../kubelet/runtime/process/network/port-refused.ts'
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

t.test('a host port that this machine does not open', async (t) => {
  const port = (port: number, protocol = 'TCP') => ({ ip: '0.0.0.0', protocol, port, containerPort: 8080 })
  const kept =
    'host port 80 is not opened on this machine, which keeps ports below 1024 for root; ' +
    'pods reach it, and this machine by kubectl port-forward to port 8080; ' +
    'run sysctl net.ipv4.ip_unprivileged_port_start=80 as root, or choose a hostPort from 1024 on'
  t.equal(whyKept(port(80), 1024), kept)
  t.notMatch(whyKept(port(53, 'UDP'), 1024), 'pods reach it', 'UDP does not lead out of pods')
  t.equal(
    whyRefused(8080, Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' })),
    'host port 8080 cannot be opened: another program of this machine has it',
  )
  t.equal(whyRefused(8080, new Error('listen EACCES')), 'host port 8080 cannot be opened: listen EACCES')

  const refusedPorts = [{ ...port(80), podUid: 'a', podIP: '10.1.0.9', why: kept }]
  const withPort = (hostPort: number, protocol?: string) => ({
    ...wanted({ ports: [{ containerPort: 8080, hostPort, ...(protocol && { protocol }) }] }),
    refusedPorts,
  })
  t.same(notApplied(withPort(80), root), [{ event: 'HostPortNotApplied', message: kept }])
  t.same(notApplied(withPort(80, 'UDP'), root), [], 'one of another protocol is another port')
  t.same(notApplied({ ...wanted({}), refusedPorts }, root), [], 'only the container that has the port says it')
})
