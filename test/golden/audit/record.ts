/**
 * Asks a real server, and writes what its audit log then has. Usage: `node record.ts SERVER CA CERT KEY LOG`, for a
 * kube-apiserver with `--audit-policy-file` (the policy of `requests.ts`) and `--audit-log-path LOG`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { urlToHttpOptions } from 'node:url'
import { httpsExchange } from '../../harness/https-exchange.ts'
import { startWebhookServer } from '../../harness/webhook-server.ts'
import { normalised } from './normalised.ts'
import { bodyOf, requests } from './requests.ts'
import { answers } from './webhooks.ts'

const [server = '', ca = '', cert = '', key = '', log = ''] = process.argv.slice(2)
const read = (file: string): string => readFileSync(file, 'utf8')
const admin = { cert: read(cert), key: read(key) }
const ends: (() => unknown)[] = []
const webhooks = await startWebhookServer({ teardown: (end) => ends.push(end) })
for (const [name, answer] of Object.entries(answers)) webhooks.answers.set(`/${name}`, answer)
for (const request of requests) {
  const { method, path, headers, anonymous } = request
  const url = urlToHttpOptions(new URL(server + path))
  const options = { ...url, method, headers, ca: read(ca), agent: false, ...(!anonymous && admin) }
  await httpsExchange(options, bodyOf(request, webhooks))
}
for (const end of ends) end()
const lines = normalised(read(log))
writeFileSync(new URL('lines.json', import.meta.url), `${JSON.stringify(lines, null, 1)}\n`)
console.log(`${Object.keys(lines).length} of ${requests.length} requests have lines`)
