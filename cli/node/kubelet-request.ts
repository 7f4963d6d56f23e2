import { request } from 'node:https'
import type { Node } from '../../shared/api/types.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { ConfigError } from '../../shared/config/option.ts'

export interface KubeletQuestion {
  method: string
  path: string
  /** Sent as JSON. */
  body?: unknown
}

/** Asks a node's kubelet directly, as the administrator: also one that is lost to the API server. Throws what it refuses. */
export async function askKubelet(
  { metadata, status }: Node,
  { ca, cert, key }: ClusterAccess,
  { method, path, body }: KubeletQuestion,
): Promise<string> {
  const name = metadata.name ?? ''
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port
  if (!address || !port)
    throw new ConfigError(`node ${name} has no kubelet of ours: its status tells no address and port`)
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const headers = payload && { 'content-type': 'application/json', 'content-length': payload.length }
  const target = { hostname: address, port, servername: name, method, path, headers, ca, cert, key }
  const { code, text } = await send(target, payload).catch((error: Error) => {
    throw new ConfigError(`the kubelet of node ${name} cannot be reached: ${error.message}`)
  })
  if (code !== 200) throw new ConfigError(`the kubelet of node ${name} refused: ${text.trim()}`)
  return text
}

function send(options: Parameters<typeof request>[1], payload?: Buffer): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...(options as object), agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }))
    })
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}
