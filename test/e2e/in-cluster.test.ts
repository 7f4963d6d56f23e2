/** A client within a container: it finds the API server, has its pod's service account, and knows its pod's names. */
import t from 'tap'
import type { Node, PodSpec } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { followPod, getText, podOf } from '../harness/pods.ts'

const cluster = await startTestCluster(t)
const { client } = cluster
const [node] = (await client.list<Node>(nodes)).items
const files = node?.metadata.labels?.['kubestage.dev/files']
const namespace = 'default'

/** What a pod's program prints until it ends. */
async function output(name: string, program: string, spec: Partial<PodSpec> = {}): Promise<string> {
  const pod = podOf({ name, command: ['node', '-e', program], spec: { restartPolicy: 'Never', ...spec } })
  await client.create(pods, pod, { namespace })
  const { until } = await followPod(client, { namespace, name })
  await until(({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed', 'to end')
  return getText(cluster, `/api/v1/namespaces/${namespace}/pods/${name}/log`)
}

/** As each client library does it. */
const inCluster = `
const fs = require('node:fs')
const folder = '/var/run/secrets/kubernetes.io/serviceaccount/'
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
const authorization = 'Bearer ' + fs.readFileSync(folder + 'token', 'utf8')
const ask = { host, port, ca: fs.readFileSync(folder + 'ca.crt'), path: '/api/v1/namespaces/default/pods', headers: { authorization } }
require('node:https').get(ask, (answer) => {
  let text = ''
  answer.on('data', (part) => (text += part)).on('end', () => console.log(answer.statusCode, JSON.parse(text).message))
}).on('error', (error) => console.log(error.message))
`
const skip = files === 'own' ? false : 'nothing is mounted where the machine has no such place'

t.test('the API server, as its service account', { skip }, async (t) => {
  t.equal(
    (await output('asks', inCluster)).trim(),
    '403 pods is forbidden: User "system:serviceaccount:default:default" cannot list resource "pods" in API group "" in the namespace "default"',
  )
})

t.test(
  'its own name, and those that its pod gives others',
  { skip: files === 'host' && 'nothing is mounted' },
  async (t) => {
    const lookUp = `
const { lookup } = require('node:dns/promises')
Promise.all([require('node:os').hostname(), 'db.example', 'localhost'].map((name) => lookup(name, { family: 4 }))).then(
  (found) => console.log(found.map(({ address }) => address).join()), (error) => console.log(error.message))
`
    const hostAliases = [{ ip: '192.0.2.7', hostnames: ['db.example', 'db'] }]
    const said = await output('names', lookUp, { hostname: 'me', subdomain: 'us', hostAliases })
    const pod = await client.get<{ status: { podIP: string } }>(pods, { namespace, name: 'names' })
    t.equal(said.trim(), `${pod.status.podIP},192.0.2.7,127.0.0.1`)
  },
)
