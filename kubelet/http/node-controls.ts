import { suggestion } from '../../shared/config/option-types.ts'
import type { EvictionManager } from '../eviction/eviction-manager.ts'
import { knownSignals, signalNamed } from '../eviction/signals.ts'
import { type Amount, parseAmount } from '../eviction/thresholds.ts'
import type { NodeControls } from '../node/node-controls.ts'
import { Problem } from './problem.ts'

/** The machine that the kubelet stands for. */
export interface ControlledNode {
  controls: NodeControls
  /** Resolves when the node is ready again. */
  reboot(): Promise<void>
  eviction: EvictionManager
  /** Then it answers only requests that control the node. */
  isLost(): boolean
}
export interface ControlRequest {
  method: string | undefined
  /** Below `/debug`. */
  path: readonly string[]
  query: URLSearchParams
}

/** `POST /debug/node/<word>`. */
const words: Record<string, (node: ControlledNode) => Promise<void> | void> = {
  shutdown: ({ controls }) => controls.shutDown(),
  lose: ({ controls }) => controls.lose(),
  return: ({ controls }) => controls.comeBack(),
  reboot: (node) => node.reboot(),
}

/** What an operator may do to the machine below. Resolves when it is done. */
export async function controlNode(
  { method, path, query }: ControlRequest,
  node: ControlledNode | undefined,
): Promise<void> {
  const [what, word = ''] = path
  if (path.length !== 2 || (what !== 'node' && what !== 'pressure')) throw new Problem(404, '404 page not found')
  if (!node) throw new Problem(503, 'the kubelet is not ready')
  if (what === 'pressure') return putUnderPressure(node.eviction, { method, word, query })
  const act = Object.hasOwn(words, word) ? words[word] : undefined
  if (!act) throw new Problem(404, '404 page not found')
  if (method !== 'POST') throw new Problem(405, 'method not allowed')
  await act(node)
}

/** `PUT` and `DELETE /debug/pressure/<signal>`, the first with `?available=<amount>` where it matters how little there is. */
function putUnderPressure(
  eviction: EvictionManager,
  { method, word, query }: { method: string | undefined; word: string; query: URLSearchParams },
): void {
  const signal = signalNamed(word)
  if (!signal) throw new Problem(404, `there is no signal "${word}"; ${suggestion(word, knownSignals())}`)
  if (method === 'DELETE') eviction.release(signal)
  else if (method === 'PUT') eviction.induce(signal, amountIn(query.get('available')))
  else throw new Problem(405, 'method not allowed')
}

function amountIn(text: string | null): Amount | undefined {
  if (!text) return undefined
  try {
    return parseAmount(text)
  } catch (error) {
    throw new Problem(400, `available ${(error as Error).message}`)
  }
}
