import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { StatusError } from '../../shared/api/status-error.ts'
import { internalError } from '../../shared/api/status-errors.ts'
import type { Node, Status } from '../../shared/api/types.ts'
import { baseHeaders } from './respond.ts'

export interface KubeletCredentials {
  cert: string
  key: string
  ca: string
}

export interface Passed {
  path: string
  request: IncomingMessage
  response: ServerResponse
  /** Runs when the client has gone. */
  onClose(callback: () => void): void
}

/** The server's way to a node's kubelet. */
export interface KubeletProxy {
  /** Passes the kubelet's answer on as it comes; resolves when it begins. */
  pass(node: Node, passed: Passed): Promise<void>
  close(): void
}

const defaultPort = 10250

export function createKubeletProxy({ cert, key, ca }: KubeletCredentials): KubeletProxy {
  const agent = new Agent({ keepAlive: true, cert, key, ca, checkServerIdentity: () => undefined })
  return {
    pass: (node, passed) => pass(agent, node, passed),
    close: () => agent.destroy(),
  }
}

function pass(agent: Agent, { metadata, status }: Node, { path, response, onClose }: Passed): Promise<void> {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port || defaultPort
  if (!address)
    throw internalError(`no preferred addresses found; known addresses: ${JSON.stringify(status?.addresses ?? [])}`)
  const url = `https://${address.includes(':') ? `[${address}]` : address}:${port}${path}`
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(url, { agent, servername: metadata.name }, (answer) => {
      const code = answer.statusCode ?? 500
      if (code >= 400) {
        refusalOf(answer).then(reject, reject)
        return
      }
      response.writeHead(code, { ...baseHeaders(), 'content-type': answer.headers['content-type'] ?? 'text/plain' })
      response.flushHeaders()
      answer.pipe(response)
      answer.on('error', () => response.destroy())
      resolve()
    })
    outgoing.on('error', (error) => reject(internalError(`Get ${JSON.stringify(url)}: ${error.message}`)))
    onClose(() => outgoing.destroy())
    outgoing.end()
  })
}

const maxErrorBytes = 64 * 1024

/** What the kubelet says is wrong, as the server's own answer. */
async function refusalOf(answer: IncomingMessage): Promise<StatusError> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= maxErrorBytes) chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8').trim()
  const code = answer.statusCode ?? 500
  try {
    const status = JSON.parse(text) as Status
    if (status.kind === 'Status') return new StatusError({ ...status, code, message: status.message ?? '' })
  } catch {
    // Text, then.
  }
  const reason = code === 400 ? 'BadRequest' : code === 404 ? 'NotFound' : 'InternalError'
  return new StatusError({
    code,
    reason,
    message: text,
    ...(reason === 'InternalError' && { details: { causes: [{ message: text }] } }),
  })
}
