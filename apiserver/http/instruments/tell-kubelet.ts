import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { Node } from '../../../shared/api/types.ts'
import type { Move } from '../../instruments/cluster-time.ts'
import type { KubeletProxy } from '../proxy/kubelet-proxy.ts'

const patienceMs = 5_000
const maxAnswer = 64 * 1024

/** Moves the clock of a node's kubelet. Rejects if it does not answer, or is not Kubestage's. */
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
    asked.on('response', (answer) => readAnswer(answer).then(resolve, reject))
    asked.end()
  })
}

/** Any node says where its kubelet is: what it answers may be anything. */
async function readAnswer(answer: IncomingMessage): Promise<number | undefined> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length > maxAnswer) throw new Error('the kubelet does not come to an end')
  }
  if (answer.statusCode !== 200) throw new Error(`the kubelet answered ${answer.statusCode}: ${text}`)
  const { nextMs } = JSON.parse(text) as { nextMs?: unknown }
  return typeof nextMs === 'number' ? nextMs : undefined
}
