/**
 * Records a real server's verdicts into verdicts.json:
 *
 *     node test/apiserver/node-access/record.ts https://127.0.0.1:6443 ca.crt admin.crt admin.key
 *
 * The server is fresh and runs with --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction, without
 * a controller manager.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { askAll, type Send } from './ask.ts'

const [server = '', ...files] = process.argv.slice(2)
const [ca, cert, key] = files.map((file) => readFileSync(file))

const send: Send = (path, { method = 'GET', headers = {}, body }) =>
  new Promise((resolve, reject) => {
    const payload = body && JSON.stringify(body)
    const framing = payload && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
    const asked = request(
      `${server}${path}`,
      { method, ca, cert, key, headers: { ...framing, ...headers } },
      (answer) => {
        answer.toArray().then((chunks) => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: answer.statusCode ?? 0, body: text.startsWith('{') ? JSON.parse(text) : text })
        }, reject)
      },
    )
    asked.on('error', reject)
    asked.end(payload)
  })

const file = new URL('verdicts.json', import.meta.url)
writeFileSync(file, `${JSON.stringify(await askAll(send), null, 2)}\n`)
