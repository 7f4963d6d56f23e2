/** Warnings of grace periods that do not fit each other, for pods and for the templates of all workloads. */
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

interface Parts {
  grace?: number
  liveness?: number
  startup?: number
  sleep?: number
  command?: string[]
  sidecar?: boolean
  policy?: string
  containerPolicy?: string
  second?: boolean
}

const exec = { command: ['true'] }
function specOf({ grace, liveness, startup, sleep, command, sidecar, policy, containerPolicy, second }: Parts) {
  const preStop = sleep !== undefined ? { sleep: { seconds: sleep } } : command && { exec: { command } }
  const container = {
    name: 'c',
    image: 'i',
    ...(containerPolicy && { restartPolicy: containerPolicy }),
    ...(liveness && { livenessProbe: { exec, terminationGracePeriodSeconds: liveness } }),
    ...(startup && { startupProbe: { exec, terminationGracePeriodSeconds: startup } }),
    ...(preStop && { lifecycle: { preStop } }),
  }
  return {
    ...(grace !== undefined && { terminationGracePeriodSeconds: grace }),
    ...(sidecar && { initContainers: [{ ...container, name: 's', restartPolicy: 'Always' }] }),
    ...(policy && { restartPolicy: policy }),
    containers: [sidecar ? { name: 'c', image: 'i' } : container, ...(second ? [{ name: 'd', image: 'i' }] : [])],
  }
}

const metadata = (name: string) => ({ name, labels: { a: 'b' } })
const selector = { matchLabels: { a: 'b' } }
const probe = (name: string, seconds: number, grace: number, path = 'spec', container = 'containers[0]') =>
  `${path}.${container}.${name}.terminationGracePeriodSeconds: ${seconds} is more than ${path}.terminationGracePeriodSeconds (${grace}); a failed probe leaves the container more time to end than a deletion of the pod`
const unused = (name: string, seconds: number, grace: number, path = 'spec') =>
  `${path}.containers[0].${name}.terminationGracePeriodSeconds: ${seconds} is not used; the container is not restarted, so its failed probe ends the whole pod, with ${path}.terminationGracePeriodSeconds (${grace})`
const hook = (field: string, seconds: number, grace: number, container = 'containers[0]') =>
  `spec.${container}.lifecycle.preStop.${field}: sleeps for ${seconds} seconds and uses up spec.terminationGracePeriodSeconds (${grace}); SIGKILL follows 2 seconds after SIGTERM`

t.test('grace periods that do not fit each other', async (t) => {
  const server = await startTestApiServer(t)
  const write = async (path: string, body: object, method = 'POST') => {
    const { status, headers, body: answer } = await server.send(path, { method, body })
    t.ok(status < 300, 'accepted', { answer })
    const texts = [headers.warning ?? []].flat().join(', ')
    return [...texts.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text)
  }
  const cases: [string, Parts, string[]][] = [
    ['nothing', {}, []],
    ['all within the grace', { grace: 60, liveness: 60, startup: 10, sleep: 59 }, []],
    ['liveness', { grace: 20, liveness: 21 }, [probe('livenessProbe', 21, 20)]],
    ['startup, above the default', { startup: 31 }, [probe('startupProbe', 31, 30)]],
    ['a sleep action', { grace: 20, sleep: 20 }, [hook('sleep.seconds', 20, 20)]],
    ['no sleep at all', { grace: 0, sleep: 0 }, []],
    ['a command', { command: ['sleep', '45'] }, [hook('exec.command', 45, 30)]],
    ['a shell', { command: ['sh', '-c', 'echo bye; sleep 1m; echo gone'] }, [hook('exec.command', 60, 30)]],
    ['a shell that decides', { command: ['sh', '-c', 'if true; then sleep 60; fi'] }, []],
    [
      'a sidecar',
      { sidecar: true, liveness: 31, sleep: 30 },
      [probe('livenessProbe', 31, 30, 'spec', 'initContainers[0]'), hook('sleep.seconds', 30, 30, 'initContainers[0]')],
    ],
    [
      'a lone container that is not restarted',
      { policy: 'Never', liveness: 5, startup: 60 },
      [unused('livenessProbe', 5, 30), unused('startupProbe', 60, 30)],
    ],
    ['the same grace', { policy: 'Never', liveness: 30 }, []],
    ['not restarted by its own policy', { containerPolicy: 'Never', liveness: 5 }, [unused('livenessProbe', 5, 30)]],
    ['restarted by its own policy', { policy: 'Never', containerPolicy: 'Always', liveness: 5 }, []],
    ['one of two', { policy: 'Never', second: true, liveness: 31 }, [probe('livenessProbe', 31, 30)]],
  ]
  for (const [index, [name, parts, expected]] of cases.entries()) {
    const pod = { metadata: metadata(`p${index}`), spec: specOf(parts) }
    t.same(await write('/api/v1/namespaces/default/pods', pod), expected, name)
  }

  const template = { metadata: { labels: { a: 'b' } }, spec: specOf({ liveness: 31 }) }
  const job = { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } }
  const rows: [string, object, string][] = [
    ['apps/v1/namespaces/default/deployments', { selector, template }, 'spec.template.spec'],
    ['apps/v1/namespaces/default/replicasets', { selector, template }, 'spec.template.spec'],
    ['apps/v1/namespaces/default/daemonsets', { selector, template }, 'spec.template.spec'],
    ['apps/v1/namespaces/default/statefulsets', { selector, template, serviceName: 's' }, 'spec.template.spec'],
    ['batch/v1/namespaces/default/jobs', job, 'spec.template.spec'],
    [
      'batch/v1/namespaces/default/cronjobs',
      { schedule: '* * * * *', jobTemplate: { spec: job } },
      'spec.jobTemplate.spec.template.spec',
    ],
  ]
  for (const [resource, spec, path] of rows) {
    const warnings = await write(`/apis/${resource}`, { metadata: metadata('w'), spec })
    const isJob = resource.startsWith('batch/')
    t.same(warnings, [(isJob ? unused : probe)('livenessProbe', 31, 30, path)], resource)
  }
  const controller = { metadata: metadata('w'), spec: { selector: { a: 'b' }, template } }
  const own = 'spec.template.spec'
  t.same(await write('/api/v1/namespaces/default/replicationcontrollers', controller), [
    probe('livenessProbe', 31, 30, own),
  ])
  const podTemplate = { metadata: metadata('w'), template }
  t.same(await write('/api/v1/namespaces/default/podtemplates', podTemplate), [
    probe('livenessProbe', 31, 30, 'template.spec'),
  ])

  const longer = { spec: { template: { spec: { terminationGracePeriodSeconds: 40 } } } }
  const name = '/apis/apps/v1/namespaces/default/deployments/w'
  const patch = (body: object) =>
    server.send(name, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })
  t.equal((await patch(longer)).headers.warning, undefined, 'an update that repairs it')
  longer.spec.template.spec.terminationGracePeriodSeconds = 5
  t.match((await patch(longer)).headers.warning, /31 is more than/, 'and one that breaks it')
})
