import { suggestion } from '../../shared/config/option-types.ts'
import type { EvictionManager } from '../eviction/eviction-manager.ts'
import { knownSignals, signalNamed } from '../eviction/signals.ts'
import { type Amount, parseAmount } from '../eviction/thresholds.ts'
import type { NodeControls } from '../node/node-controls.ts'
import { pageNotFound } from './not-found.ts'
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
  method: string
  /** The action, or the signal it applies to. */
  word: string
  query: URLSearchParams
}

/** `POST /debug/node/<word>`. */
const words: Record<string, (node: ControlledNode) => Promise<void> | void> = {
  shutdown: ({ controls }) => controls.shutDown(),
  lose: ({ controls }) => controls.lose(),
  return: ({ controls }) => controls.comeBack(),
  reboot: (node) => node.reboot(),
}

/**
 * Does what an operator may do to the machine: shut it down, lose it, bring it back or reboot it. Resolves when the
 * action is complete. Throws a Problem if the kubelet is not ready or the action is unknown.
 */
export async function controlNode(
  { method, word }: Omit<ControlRequest, 'query'>,
  node: ControlledNode | undefined,
): Promise<void> {
  if (!node) throw notReady()
  const act = Object.hasOwn(words, word) ? words[word] : undefined
  if (!act) throw pageNotFound()
  if (method !== 'POST') throw new Problem(405, 'method not allowed')
  await act(node)
}

/**
 * `PUT` and `DELETE /debug/pressure/<signal>`, the first with `?available=<amount>` where it matters how little there
 * is.
 */
export function putUnderPressure({ method, word, query }: ControlRequest, node: ControlledNode | undefined): void {
  if (!node) throw notReady()
  const signal = signalNamed(word)
  if (!signal) throw new Problem(404, `unknown signal "${word}"; ${suggestion(word, knownSignals())}`)
  if (method === 'DELETE') node.eviction.release(signal)
  else if (method === 'PUT') node.eviction.induce(signal, amountIn(query.get('available')))
  else throw new Problem(405, 'method not allowed')
}

const notReady = (): Problem => new Problem(503, 'the kubelet is not ready')

function amountIn(text: string | null): Amount | undefined {
  if (!text) return undefined
  try {
    return parseAmount(text)
  } catch (error) {
    throw new Problem(400, `available ${(error as Error).message}`)
  }
}
