/** The two servers that are asked: ours in this process, and a real one that a kubeconfig names. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { load } from 'js-yaml'
import { pino } from 'pino'
import { decodeProtobuf } from '../../apiserver/protobuf/decode.ts'
import { startLoopSet } from '../../controllers/loop-set.ts'
import { startFlowSchemaController } from '../../controllers/server-objects/flow-schemas.ts'
import { toJson } from '../../shared/api/json/exact-json.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer } from '../../test/harness/api-server.ts'
import { httpsExchange } from '../../test/harness/https-exchange.ts'
import { namespace } from './bases.ts'
import type { Opened, Received, Sent, Server } from './player.ts'

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }]
  users: [{ user: { 'client-certificate-data': string; 'client-key-data': string } }]
}

interface Identity {
  ca: string | Buffer
  cert: string | Buffer
  key: string | Buffer
}

export interface Target extends Server {
  close(): Promise<void>
}

/** Names a real server by a kubeconfig in YAML or JSON, with certificates as data. */
export async function theirServer(file: string): Promise<Target> {
  const { clusters, users } = load(readFileSync(file, 'utf8')) as Kubeconfig
  const { cluster } = clusters[0]
  const { user } = users[0]
  const decoded = (text: string): Buffer => Buffer.from(text, 'base64')
  const identity = {
    ca: decoded(cluster['certificate-authority-data']),
    cert: decoded(user['client-certificate-data']),
    key: decoded(user['client-key-data']),
  }
  return targetOf(cluster.server, identity, async () => {})
}

export async function ourServer(): Promise<Target> {
  const endings: (() => unknown)[] = []
  const server = await startTestApiServer({ teardown: (end) => void endings.push(end as () => unknown) })
  const loops = startLoopSet({
    client: server.client({ name: 'system:apiserver', groups: ['system:masters'] }),
    clock: realClock,
    log: pino({ level: 'silent' }),
    // The one loop of an API server that writes to objects of clients.
    start: (context) => [startFlowSchemaController(context)],
  })
  await loops.synced()
  return targetOf(`https://127.0.0.1:${server.port}`, server.tls, async () => {
    await loops.close()
    for (const end of endings) await end()
  })
}

/** Sends requests to the server at the URL, with the identity of the agent. */
export function serverAt(url: string, agent: Agent): Server {
  const { hostname, port } = new URL(url)
  const send = async ({ method, path, headers, body }: Sent): Promise<Received> => {
    const signal = AbortSignal.timeout(patienceMs)
    const exchange = () => httpsExchange({ agent, hostname, port, method, path, headers, signal }, body)
    // A server may end an idle connection in the moment in which it is used again.
    const answer = await exchange().catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') return exchange()
      throw error
    })
    const { warning, 'content-type': type } = answer.headers
    return {
      status: answer.status,
      body: bodyOf(answer.bytes, String(type)),
      warnings: warningsOf(warning),
      type: String(type),
    }
  }
  return { send, open: (sent) => openStream({ agent, hostname, port }, sent) }
}

/** How long an answer may take. */
const patienceMs = 20_000
/** How long a stream may be quiet at its end. */
const quietMs = 400
/** The last event that a case waits for. */
const lastEvent = /"name": ?"end"/

/** Resolves with the head of the answer; what follows is collected meanwhile. */
function openStream(to: { agent: Agent; hostname: string; port: string }, sent: Sent): Promise<Opened> {
  const { method, path, headers } = sent
  return new Promise((resolve, reject) => {
    const asked = request({ ...to, method, path, headers }, (response) => {
      let text = ''
      const closed = new Promise<void>((resolve) => response.on('close', resolve).on('error', () => {}))
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      resolve(async () => {
        for (let seen = -1; !lastEvent.test(text) && seen < text.length; ) {
          seen = text.length
          if ((await Promise.race([closed, wait(quietMs, 'quiet')])) !== 'quiet') break
        }
        asked.destroy()
        const status = response.statusCode ?? 0
        const body = status === 200 ? text.split('\n').filter(Boolean).map(parsed) : parsed(text)
        return { status, body, warnings: warningsOf(response.headers.warning), type: response.headers['content-type'] }
      })
    })
    asked.on('error', reject)
    asked.end(sent.body)
  })
}

async function targetOf(url: string, identity: Identity, end: () => Promise<void>): Promise<Target> {
  const agent = new Agent({ keepAlive: true, ...identity })
  const server = serverAt(url, agent)
  await prepare(server)
  return {
    ...server,
    async close() {
      agent.destroy()
      await end()
    },
  }
}

/** Makes the namespace of the cases and its service account, which a controller makes elsewhere. */
export async function prepare({ send }: Server): Promise<void> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'differential/1' }
  const make = (path: string, body: object): Promise<Received> =>
    send({ method: 'POST', path, headers, body: JSON.stringify(body) })
  await make('/api/v1/namespaces', { metadata: { name: namespace } })
  await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
}

const protobufPrefix = Buffer.from('k8s\0')

/** Shows objects in protobuf as JSON, without what is empty: Go writes empty fields and reads absent ones as empty. */
function bodyOf(bytes: Buffer, type?: string): unknown {
  if (type === 'application/yaml' && bytes.length > 0) return load(bytes.toString('utf8'))
  if (!bytes.subarray(0, 4).equals(protobufPrefix)) return parsed(bytes.toString('utf8'))
  try {
    return withoutEmpty(JSON.parse(toJson(decodeProtobuf(bytes))))
  } catch (error) {
    return `${error}`
  }
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (typeof value !== 'object' || value === null) return value
  const left = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const)
  return Object.fromEntries(left.filter(([, inner]) => !isEmpty(inner)))
}

const isEmpty = (value: unknown): boolean =>
  !value || (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.slice(0, 200)
  }
}

/** Node joins headers of one name with a comma: each warning begins with its code. */
function warningsOf(header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  return [header].flat().flatMap((line) => line.split(/, (?=299 )/))
}
