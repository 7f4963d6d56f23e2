import type { NodeTime } from '../node/node-time.ts'
import type { ControlRequest } from './control-node.ts'
import { Problem } from './problem.ts'

/**
 * `PUT /debug/clock?moved=<milliseconds>`: moves the node's time forward until it has been moved by so much in all;
 * containers are told with `&last=true`.
 */
export async function moveClock(
  { method, query }: Omit<ControlRequest, 'word'>,
  time: NodeTime | undefined,
): Promise<{ nextMs?: number }> {
  if (method !== 'PUT') throw new Problem(405, 'method not allowed')
  const movedMs = Number(query.get('moved') ?? Number.NaN)
  if (!Number.isFinite(movedMs)) throw new Problem(400, 'moved must be a number of milliseconds')
  if (!time) throw new Problem(503, 'the time of this node is not its own')
  return { nextMs: await time.moveTo(movedMs, { isLast: query.get('last') === 'true' }) }
}
