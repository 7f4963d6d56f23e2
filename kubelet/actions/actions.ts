import type { Clock } from '../../shared/clock/clock.ts'
import type { ActionHandler, ActionResult } from './action.ts'
import { runExec } from './exec.ts'
import { runHttpGet } from './http-get.ts'
import { runSleep } from './sleep.ts'
import { runTcpSocket } from './tcp-socket.ts'

/**
 * Returns the handler of every action that probes and hooks have. The caller decides which actions are allowed where.
 */
export function createActions(clock: Clock): ActionHandler {
  return {
    async run(action, target, given): Promise<ActionResult> {
      const options = { ...given, clock }
      try {
        if (action.exec) return await runExec(action.exec, target, options)
        if (action.httpGet) return await runHttpGet(action.httpGet, target, options)
        if (action.tcpSocket) return await runTcpSocket(action.tcpSocket, target, options)
        if (action.grpc) return await (await import('./grpc.ts')).runGrpc(action.grpc, target, options) // HTTP/2 costs 6 MB
        if (action.sleep) return await runSleep(action.sleep, options)
        return { outcome: 'error', output: '', message: 'no action is given' }
      } catch (error) {
        return { outcome: 'error', output: '', message: error instanceof Error ? error.message : String(error) }
      }
    },
  }
}
