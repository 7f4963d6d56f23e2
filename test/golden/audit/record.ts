/**
 * Asks a real server, and writes what its audit log then has. Usage: `node record.ts SERVER CA CERT KEY LOG`, for a
 * kube-apiserver with `--audit-policy-file` (the policy of `requests.ts`) and `--audit-log-path LOG`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { urlToHttpOptions } from 'node:url'
import { httpsExchange } from '../../harness/https-exchange.ts'
import { normalised } from './normalised.ts'
import { requests } from './requests.ts'

const [server = '', ca = '', cert = '', key = '', log = ''] = process.argv.slice(2)
const read = (file: string): string => readFileSync(file, 'utf8')
const admin = { cert: read(cert), key: read(key) }
for (const { method, path, headers, body, anonymous } of requests) {
  const url = urlToHttpOptions(new URL(server + path))
  const options = { ...url, method, headers, ca: read(ca), agent: false, ...(!anonymous && admin) }
  await httpsExchange(options, body && JSON.stringify(body))
}
const lines = normalised(read(log))
writeFileSync(new URL('lines.json', import.meta.url), `${JSON.stringify(lines, null, 1)}\n`)
console.log(`${Object.keys(lines).length} of ${requests.length} requests have lines`)
