import { request } from 'node:https'
import type { Node } from '../../../shared/api/types.ts'
import type { Move } from '../../instruments/cluster-time.ts'
import type { KubeletProxy } from '../kubelet-proxy.ts'

const patienceMs = 5_000

/** Moves the clock of a node's kubelet. Rejects when it does not answer, or not as one of ours. */
export function moveKubeletClock(
  kubelet: KubeletProxy,
  node: Node,
  { movedMs, isLast }: Move,
): Promise<number | undefined> {
  const { origin, agent, servername } = kubelet.reach(node)
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}/debug/clock?moved=${movedMs}&last=${isLast}`, {
      method: 'PUT',
      agent,
      servername,
      timeout: patienceMs,
    })
    asked.on('error', reject)
    asked.on('timeout', () => asked.destroy(new Error('the kubelet does not answer')))
    asked.on('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      answer.on('error', reject)
      answer.on('end', () => {
        if (answer.statusCode !== 200) return reject(new Error(`the kubelet answered ${answer.statusCode}: ${text}`))
        resolve((JSON.parse(text) as { nextMs?: number }).nextMs)
      })
    })
    asked.end()
  })
}
