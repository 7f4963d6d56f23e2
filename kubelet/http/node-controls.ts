import type { NodeControls } from '../node/node-controls.ts'
import { Problem } from './problem.ts'

/** What an operator may do to the machine below: `POST /debug/node/<word>`. */
const words: Record<string, (controls: NodeControls) => Promise<void> | void> = {
  shutdown: (controls) => controls.shutDown(),
  lose: (controls) => controls.lose(),
  return: (controls) => controls.comeBack(),
}

/** Answers when it is done. */
export async function controlNode(
  method: string | undefined,
  path: readonly string[],
  controls: NodeControls | undefined,
) {
  const [what, word = ''] = path
  const act = what === 'node' && path.length === 2 && Object.hasOwn(words, word) ? words[word] : undefined
  if (!act) throw new Problem(404, '404 page not found')
  if (method !== 'POST') throw new Problem(405, 'method not allowed')
  if (!controls) throw new Problem(503, 'the kubelet is not ready')
  await act(controls)
}
