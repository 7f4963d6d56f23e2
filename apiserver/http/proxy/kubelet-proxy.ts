import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { internalError } from '../../../shared/api/status/status-errors.ts'
import type { Node, Status } from '../../../shared/api/types.ts'
import { requestError } from '../../../shared/client/call-errors.ts'
import type { ClusterPki } from '../../../shared/pki/cluster-pki.ts'
import type { DialByKubelet } from '../../registry/way-to-pod.ts'
import { baseHeaders } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import type { Backend } from '../streams/backend.ts'
import { type Joining, joinTo, type Refusal } from '../streams/join.ts'

export interface KubeletCredentials {
  cert: string
  key: string
  /** Holds the CA of kubelets' serving certificates, in PEM. Without it they are not verified, as at a real server. */
  ca?: string
}

/** Returns the credentials from a cluster's own certificates. The key pair is made for the first connection. */
export const kubeletCredentials = (
  pki: Pick<ClusterPki, 'apiServerKubeletClient'>,
  ca: string | undefined,
): KubeletCredentials => ({
  get cert() {
    return pki.apiServerKubeletClient.cert
  },
  get key() {
    return pki.apiServerKubeletClient.key
  },
  ca,
})

interface Asked {
  path: string
  /** Runs when the client has gone. */
  onClose(callback: () => void): void
}

/** The proxy sends requests from the server to a node's kubelet. */
export interface KubeletProxy {
  /** Passes the kubelet's answer on as it comes; resolves when it begins. */
  pass(node: Node, path: string, exchange: Exchange): Promise<void>
  /** The kubelet's answer, when it begins. Rejects with a StatusError when it refuses. */
  read(node: Node, asked: Asked): Promise<IncomingMessage>
  /**
   * Joins the client to the kubelet, byte by byte, once that has agreed; what it says against it is passed on as it is.
   */
  join(node: Node, joined: Joined): Promise<void>
  /** Connects to a port of a pod in the network of the node. Rejects with the error of a socket. */
  dial: DialByKubelet
  /** Where it is, and how we come there. */
  reach(node: Node): Backend
  close(): void
}

export interface Joined extends Joining {
  path: string
  /**
   * Answers the client when the kubelet, asked at `url`, does not agree to the upgrade. Default: what the kubelet says
   * is passed on.
   */
  refuse?(refusal: Refusal, url: string): Promise<void>
}

const defaultPort = 10250
/**
 * Without one an Agent ignores when the kubelet says that it will close an idle connection, and sends a request into
 * its end.
 */
const idleMs = 60_000

export function createKubeletProxy(credentials: KubeletCredentials): KubeletProxy {
  let kept: Agent | undefined
  const agent = (): Agent => {
    const { cert, key, ca } = credentials
    const checks = { ca, rejectUnauthorized: ca !== undefined, checkServerIdentity: () => undefined }
    kept ??= new Agent({ keepAlive: true, timeout: idleMs, cert, key, ...checks })
    return kept
  }
  return {
    pass: (node, path, exchange) => pass(agent(), node, { path, exchange }),
    read: (node, asked) => read(agent(), node, asked),
    join: (node, joined) => join(agent(), node, joined),
    dial: (node, to) => dial(agent(), node, to),
    reach: (node) => ({ origin: urlOf(node, ''), agent: agent(), servername: node.metadata.name }),
    close: () => kept?.destroy(),
  }
}

function urlOf({ status }: Node, path: string): string {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port || defaultPort
  if (!address)
    throw internalError(`no preferred addresses found; known addresses: ${JSON.stringify(status?.addresses ?? [])}`)
  return `https://${address.includes(':') ? `[${address}]` : address}:${port}${path}`
}

function join(agent: Agent, node: Node, { path, refuse, ...joined }: Joined): Promise<void> {
  const url = urlOf(node, path)
  const backend = { url, agent, servername: node.metadata.name, headers: streamHeaders(joined.exchange.request) }
  return joinTo(backend, joined, refuse && ((refusal) => refuse(refusal, url)))
}

/** A kubelet gives up earlier by itself. */
const dialMs = 30_000

function dial(agent: Agent, node: Node, { address, port }: { address: string; port: number }): Promise<Duplex> {
  const url = urlOf(node, `/podAddress/${address}/${port}`)
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const fail = (code: string | undefined): Error =>
    Object.assign(new Error(`the kubelet of node ${node.metadata.name} does not reach ${address}:${port}`), { code })
  const headers = { connection: 'Upgrade', upgrade: 'tcp' }
  const outgoing = httpsRequest(url, { agent, servername: node.metadata.name, headers, timeout: dialMs })
  outgoing.on('timeout', () => outgoing.destroy(fail('ETIMEDOUT')))
  outgoing.on('error', reject)
  outgoing.on('response', (answer) => {
    reject(fail([answer.headers['kubestage-error']].flat()[0]))
    answer.destroy()
  })
  outgoing.on('upgrade', (_answer, socket, head) => {
    socket.setTimeout(0)
    if (head.length > 0) socket.unshift(head)
    resolve(socket)
  })
  outgoing.end()
  return promise
}

/** Headers of the upgrade only: the user is known already, and compression would only be undone here. */
function streamHeaders({ headers }: IncomingMessage): OutgoingHttpHeaders {
  const wanted = /^(connection|upgrade|sec-websocket-(?!extensions).*|x-stream-protocol-version)$/
  return Object.fromEntries(Object.entries(headers).filter(([name]) => wanted.test(name)))
}

async function pass(agent: Agent, node: Node, { path, exchange }: { path: string; exchange: Exchange }): Promise<void> {
  const answer = await read(agent, node, { path, onClose: (callback) => exchange.onClose(callback) })
  const contentType = answer.headers['content-type'] ?? 'text/plain'
  const response = exchange.takeOver()
  response.writeHead(answer.statusCode ?? 500, { ...baseHeaders(), 'content-type': contentType })
  response.flushHeaders()
  answer.pipe(response)
  answer.on('error', () => response.destroy())
}

function read(agent: Agent, node: Node, { path, onClose }: Asked): Promise<IncomingMessage> {
  const url = urlOf(node, path)
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(url, { agent, servername: node.metadata.name }, (answer) => {
      if ((answer.statusCode ?? 500) >= 400) refusalOf(answer).then(reject, reject)
      else resolve(answer)
    })
    outgoing.on('error', (error) => reject(unanswered(url, error)))
    onClose(() => outgoing.destroy())
    outgoing.end()
  })
}

/** Answers as a real server does, by an error without a reason. */
const unanswered = (url: string, error: Error): StatusError =>
  new StatusError({ code: 500, message: `Get ${JSON.stringify(url)}: ${requestError(error, url)}` })

const maxErrorBytes = 64 * 1024

/** The beginning of what the kubelet says is wrong: text, or a Status as an error. */
export async function errorOf(answer: IncomingMessage): Promise<string | StatusError> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // It may have no end: leaving the loop ends the connection.
    if (bytes > maxErrorBytes) break
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8').trim()
  const code = answer.statusCode ?? 500
  try {
    const status = JSON.parse(text) as Status
    if (status.kind === 'Status') return new StatusError({ ...status, code, message: status.message ?? '' })
  } catch {
    // Text, then.
  }
  return text
}

/** Turns the kubelet's refusal into an answer of the server. */
async function refusalOf(answer: IncomingMessage): Promise<StatusError> {
  const text = await errorOf(answer)
  if (text instanceof StatusError) return text
  const code = answer.statusCode ?? 500
  const reason = code === 400 ? 'BadRequest' : code === 404 ? 'NotFound' : 'InternalError'
  return new StatusError({
    code,
    reason,
    message: text,
    ...(reason === 'InternalError' && { details: { causes: [{ message: text }] } }),
  })
}
