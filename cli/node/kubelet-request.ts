import { request } from 'node:https'
import type { Node } from '../../shared/api/types.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { ConfigError } from '../../shared/config/option.ts'

/** Asks a node's kubelet directly, as the administrator: also one that is lost to the API server. Throws what it refuses. */
export async function askKubelet(
  { metadata, status }: Node,
  { ca, cert, key }: ClusterAccess,
  { method, path }: { method: string; path: string },
): Promise<void> {
  const name = metadata.name ?? ''
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port
  if (!address || !port)
    throw new ConfigError(`node ${name} has no kubelet of ours: its status tells no address and port`)
  const { code, text } = await send({ hostname: address, port, servername: name, method, path, ca, cert, key }).catch(
    (error: Error) => {
      throw new ConfigError(`the kubelet of node ${name} cannot be reached: ${error.message}`)
    },
  )
  if (code !== 200) throw new ConfigError(`the kubelet of node ${name} refused: ${text.trim()}`)
}

function send(options: Parameters<typeof request>[1]): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...(options as object), agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}
