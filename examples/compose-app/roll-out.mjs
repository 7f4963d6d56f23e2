// A small operator: it replaces a pod by its next version, telling the old one why it has to go, and waits until it has drained.
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

const config = readFileSync(process.env.KUBECONFIG, 'utf8')
const field = (name) => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(config)[1], 'base64')
const access = {
  ca: field('certificate-authority-data'),
  cert: field('client-certificate-data'),
  key: field('client-key-data'),
}
const server = process.env.KUBE_SERVER
const pods = '/api/v1/namespaces/default/pods'

await create('app-1')
await until('app-1', (pod) => pod?.status.phase === 'Running')
await create('app-2')
await until('app-2', (pod) => pod?.status.phase === 'Running')
await call('DELETE', `${pods}/app-1`, { kind: 'DeleteOptions', apiVersion: 'v1', reason: 'Rollout' })
await until('app-1', (pod) => pod === undefined)
await call('DELETE', `${pods}/app-2`, { kind: 'DeleteOptions', apiVersion: 'v1', reason: 'Rollout' })
await until('app-2', (pod) => pod === undefined)
console.log('Both versions drained. Ask: kubectl get terminations')

function create(name) {
  const drain = 'echo "draining for: $KUBE_POD_TERM_REASON"; sleep 1'
  return call('POST', pods, {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [
        {
          name: 'app',
          image: 'busybox',
          command: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.1; done'],
          lifecycle: { preStop: { exec: { command: ['sh', '-c', drain] } } },
        },
      ],
    },
  })
}

async function until(name, condition) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(100))
    if (condition(await call('GET', `${pods}/${name}`))) return
  throw new Error(`${name} did not get there within a minute`)
}

/** The object answered; undefined for 404. */
function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const text = body ? JSON.stringify(body) : ''
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const asked = request(`${server}${path}`, { method, headers, ...access }, async (response) => {
      let said = ''
      for await (const part of response.setEncoding('utf8')) said += part
      if (response.statusCode === 404) resolve(undefined)
      else if (response.statusCode < 300) resolve(JSON.parse(said))
      else reject(new Error(`${method} ${path}: ${response.statusCode} ${said}`))
    })
    asked.on('error', reject)
    asked.end(text)
  })
}
