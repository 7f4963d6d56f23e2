import type { TCPSocketAction } from '../../shared/api/types.ts'
import { dialError, hostPort } from '../../shared/client/network-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type ActionOptions, type ActionResult, type ActionTarget, CANCELED } from './action.ts'
import { dial } from './dial.ts'
import { resolvePort } from './port.ts'

/** Succeeds if the port is open. The connection is closed at once. Upstream: pkg/probe/tcp. */
export async function runTcpSocket(
  action: TCPSocketAction,
  target: ActionTarget,
  options: ActionOptions & { clock: Clock },
): Promise<ActionResult> {
  const host = action.host || target.podIP
  const port = resolvePort(action.port, target)
  const { promise, resolve } = Promise.withResolvers<ActionResult>()
  const close = dial(target.runtime, { host, port, timeoutMs: options.timeoutMs }, (error) =>
    resolve({ outcome: error ? 'failure' : 'success', output: '', message: error ? dialError(error, host, port) : '' }),
  )
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : options.clock.machine.setTimer(options.timeoutMs, () =>
          resolve({ outcome: 'timeout', output: '', message: `dial tcp ${hostPort(host, port)}: i/o timeout` }),
        )
  const { signal } = options
  const giveUp = () => resolve({ outcome: 'failure', output: '', message: CANCELED })
  signal?.addEventListener('abort', giveUp)
  if (signal?.aborted) giveUp()
  const result = await promise
  signal?.removeEventListener('abort', giveUp)
  timer?.cancel()
  close()
  return result
}
