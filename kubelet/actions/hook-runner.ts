import type { Container, LifecycleHandler, Pod } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { fullName } from '../pod/container-kinds.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'
import type { ActionHandler, ActionResult } from './action.ts'

export interface HookRequest {
  pod: Pod
  container: Container
  record: ContainerRecord
  podIP: string
  handler: LifecycleHandler
  /** Delivered with the hook: variables for a command, headers for a request. */
  env?: Record<string, string>
  headers?: Record<string, string>
}
/** Runs one lifecycle hook to its end. It never throws and has no deadline: the caller decides how long to wait. */
export interface HookRunner {
  run(request: HookRequest): Promise<ActionResult>
}

const HOOK_USER_AGENT = 'kube-lifecycle/1.36'

/** A request that the container's own end breaks off says so itself, in its own words. */
const REQUEST_LINGERS_MS = 1_000

export function createHookRunner(runtime: ContainerRuntime, actions: ActionHandler, clock: Clock): HookRunner {
  return {
    async run(request) {
      const { record, container, podIP, pod, handler } = request
      if (!handler.exec && !handler.httpGet && !handler.sleep) {
        return {
          outcome: 'error',
          output: '',
          message: `Cannot run handler: invalid handler: ${goHandler(handler)}`,
        }
      }
      // The runtime knows no address of such a pod, and upstream does not put the node's in its place.
      if (handler.httpGet && !handler.httpGet.host && pod.spec.hostNetwork) {
        return { outcome: 'error', output: '', message: `failed to find networking container: ${fullName(pod)}` }
      }
      // A pause is the kubelet's own, and goes on; a command or request would hold what it uses without end.
      const lingersMs = handler.exec ? 0 : REQUEST_LINGERS_MS
      const life = handler.sleep ? undefined : lifeOf(runtime, record, clock, lingersMs)
      try {
        return await actions.run(
          handler,
          { runtime, containerId: record.id, podIP, ports: container.ports ?? [] },
          {
            env: request.env,
            headers: request.headers,
            userAgent: HOOK_USER_AGENT,
            purpose: 'hook',
            signal: life?.signal,
          },
        )
      } catch (error) {
        return { outcome: 'error', output: '', message: error instanceof Error ? error.message : String(error) }
      } finally {
        life?.forget()
      }
    },
  }
}

/** A signal that aborts when the container has ended and `lingersMs` have passed. */
function lifeOf(
  runtime: ContainerRuntime,
  { id, podUid }: ContainerRecord,
  { machine }: Clock,
  lingersMs: number,
): { signal: AbortSignal; forget(): void } {
  const ended = new AbortController()
  let timer: Timer | undefined
  const end = (): void => {
    if (lingersMs === 0) ended.abort()
    else timer ??= machine.setTimer(lingersMs, () => ended.abort(), { background: true })
  }
  const stopListening = runtime.onEvent((event) => {
    if (event.type === 'exited' && event.containerId === id) end()
  })
  void runtime.list(podUid).then(({ containers }) => {
    if (!containers.some((found) => found.id === id && found.state === 'running')) end()
  })
  const forget = (): void => {
    stopListening()
    timer?.cancel()
    timer = undefined
  }
  return { signal: ended.signal, forget }
}

/** Returns the message that the container's status shows for a failed hook. */
export function hookFailureMessage({ pod, container, handler }: HookRequest, result: ActionResult): string {
  const where = `for Container "${container.name}" in Pod "${fullName(pod)}" failed - error: ${result.message}`
  if (handler.exec) {
    return `Exec lifecycle hook ([${handler.exec.command?.join(' ')}]) ${where}, message: ${JSON.stringify(result.output)}`
  }
  if (handler.httpGet) return `HTTP lifecycle hook (${handler.httpGet.path ?? ''}) ${where}`
  if (handler.sleep) return `Sleep lifecycle hook (${handler.sleep.seconds}) ${where}`
  return result.message
}

/** Formats a handler as Go prints it. Only a tcpSocket can be set in it: the other kinds can be run. */
function goHandler({ tcpSocket }: LifecycleHandler): string {
  const { port = 0, host = '' } = tcpSocket ?? {}
  const go = typeof port === 'number' ? `{0 ${port} }` : `{1 0 ${port}}`
  const tcp = tcpSocket ? `&TCPSocketAction{Port:${go},Host:${host},}` : 'nil'
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${tcp},Sleep:nil,}`
}
