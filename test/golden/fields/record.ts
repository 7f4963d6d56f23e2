/** Records what a real server answers to the cases: node test/golden/fields/record.ts KUBECONFIG.json, as `kubectl config view --raw -o json` prints it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Cases, type Definitions, digest, normalize } from './cases.ts'
import { RealServer } from './real-server.ts'

using server = new RealServer()
const { definitions } = JSON.parse((await server.send('GET', '/openapi/v2')).text) as { definitions: Definitions }
const answers: { [kind: string]: { [path: string]: string[] } } = {}
const cases = [...new Cases(definitions).all()]
for (const { kind, path, index, url, body } of cases) {
  const { status, warning, text } = await server.send('POST', url, body)
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
