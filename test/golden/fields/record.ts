/** Records what a real server answers to the cases: node test/golden/fields/record.ts KUBECONFIG.json, as `kubectl config view --raw -o json` prints it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { Cases, type Definitions, digest, normalize } from './cases.ts'

const kubeconfig = JSON.parse(readFileSync(process.argv[2]!, 'utf8'))
const { cluster } = kubeconfig.clusters[0]
const { user } = kubeconfig.users[0]
const decoded = (text: string): Buffer => Buffer.from(text, 'base64')
const agent = new Agent({
  keepAlive: true,
  ca: decoded(cluster['certificate-authority-data']),
  cert: decoded(user['client-certificate-data']),
  key: decoded(user['client-key-data']),
})

function send(method: string, path: string, body?: object): Promise<{ status: number; warning?: string; text: string }> {
  const sent = body ? JSON.stringify(body) : ''
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, cluster.server), { agent, method, headers }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      const { warning } = response.headers as { warning?: string }
      response.on('end', () => resolve({ status: response.statusCode ?? 0, ...(warning && { warning }), text }))
    })
    asked.on('error', reject).end(sent)
  })
}

const { definitions } = JSON.parse((await send('GET', '/openapi/v2')).text) as { definitions: Definitions }
const answers: { [kind: string]: { [path: string]: string[] } } = {}
const cases = [...new Cases(definitions).all()]
for (const { kind, path, index, url, body } of cases) {
  const { status, warning, text } = await send('POST', url, body)
  const digests = ((answers[kind] ??= {})[path] ??= [])
  digests[index] = digest(normalize(status, warning, JSON.parse(text)))
}
const joined = Object.fromEntries(
  Object.entries(answers).map(([kind, paths]) => [
    kind,
    Object.fromEntries(Object.entries(paths).map(([path, digests]) => [path, digests.join(' ')])),
  ]),
)
writeFileSync(join(import.meta.dirname, 'answers.json'), `${JSON.stringify(joined, null, 1)}\n`)
console.log(`${cases.length} answers`)
agent.destroy()
