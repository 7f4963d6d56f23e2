/** A member of a small replicated store: `PUT` and `GET /keys/NAME` at any member. */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Member } from './member.mjs'

const { POD_IP, POD_NAME, DATA = '/data', FOLDERS = 'Infinity', REPLICAS = '2' } = process.env
const maxValueBytes = 2 ** 20
const flushMs = 10_000

const member = new Member({
  root: DATA,
  limit: Number(FOLDERS),
  address: POD_IP,
  pod: POD_NAME,
  replicas: Number(REPLICAS),
})

/** By method and the path's first word. Each resolves to the status and the body of the answer. */
const routes = {
  // From clients:
  'PUT keys': async (key, request) => [(await member.write(key, await text(request))) ? 201 : 503],
  'GET keys': async (key) => {
    const entry = await member.read(key)
    return entry ? [200, entry.value] : [404]
  },
  // From other members:
  'PUT copies': async (key, request) => {
    const entry = { version: request.headers.version, value: await text(request) }
    return [member.keep(key, entry) ? 201 : 503]
  },
  'GET copies': async (key) => {
    const found = key === undefined ? member.isMember && member.versions() : member.entry(key)
    return found ? [200, JSON.stringify(found)] : [key === undefined ? 503 : 404]
  },
  // From the kubelet, or from leave.mjs:
  'GET ready': async () => [member.isReady ? 200 : 503],
  'GET leave': async (_, { headers }) => [200, JSON.stringify(await member.leave(headers['kube-pod-term-reason']))],
  // From the client that gave the members their work: it is done, this one ends by itself.
  'POST finish': async () => {
    const report = await member.leave('Finished')
    setImmediate(end, 0)
    return [200, JSON.stringify(report)]
  },
}

const server = createServer(async (request, response) => {
  const [status, body] = await answer(request).catch((error) => [
    error instanceof URIError ? 400 : 500,
    `${error.message}\n`,
  ])
  response.writeHead(status).end(body)
})

async function answer(request) {
  const { method, url, headers } = request
  const [, word, key] = url.split('/')
  const route = routes[`${method} ${word}`]
  if (!route) return [404]
  if (method === 'PUT' && !(headers['content-length'] <= maxValueBytes)) return [413]
  return route(key && decodeURIComponent(key), request)
}

async function end(exitCode) {
  server.close()
  await member.end()
  process.exit(exitCode)
}

// Not 0: for a Job that would mean that the work is done.
process.once('SIGTERM', () => end(143))
// Before it takes a folder: a request to the address of a folder's holder gets an answer.
server.listen(8080, POD_IP, async () => {
  await member.start()
  setInterval(() => member.flush(), flushMs)
})
