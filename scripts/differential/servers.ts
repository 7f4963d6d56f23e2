/** The two servers that are asked: ours in this process, and a real one that a kubeconfig names. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { load } from 'js-yaml'
import { pino } from 'pino'
import { startLoopSet } from '../../controllers/loop-set.ts'
import { startFlowSchemaController } from '../../controllers/server-objects/flow-schemas.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer } from '../../test/harness/api-server.ts'
import { httpsExchange } from '../../test/harness/https-exchange.ts'
import { namespace } from './bases.ts'
import type { Received, Send } from './player.ts'

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }]
  users: [{ user: { 'client-certificate-data': string; 'client-key-data': string } }]
}

interface Identity {
  ca: string | Buffer
  cert: string | Buffer
  key: string | Buffer
}

export interface Target {
  send: Send
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
export function sendTo(url: string, agent: Agent): Send {
  const { hostname, port } = new URL(url)
  return async ({ method, path, headers, body }) => {
    const exchange = () => httpsExchange({ agent, hostname, port, method, path, headers }, body)
    // A server may end an idle connection in the moment in which it is used again.
    const answer = await exchange().catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') return exchange()
      throw error
    })
    const text = answer.bytes.toString('utf8')
    return { status: answer.status, body: parsed(text), warnings: warningsOf(answer.headers.warning) }
  }
}

async function targetOf(url: string, identity: Identity, end: () => Promise<void>): Promise<Target> {
  const agent = new Agent({ keepAlive: true, ...identity })
  const send = sendTo(url, agent)
  await prepare(send)
  return {
    send,
    async close() {
      agent.destroy()
      await end()
    },
  }
}

/** Makes the namespace of the cases and its service account, which a controller makes elsewhere. */
export async function prepare(send: Send): Promise<void> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'differential/1' }
  const make = (path: string, body: object): Promise<Received> =>
    send({ method: 'POST', path, headers, body: JSON.stringify(body) })
  await make('/api/v1/namespaces', { metadata: { name: namespace } })
  await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
}

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
