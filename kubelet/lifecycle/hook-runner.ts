import type { Container, LifecycleHandler, Pod } from '../../shared/api/types.ts'
import type { ActionHandler, ActionResult } from '../actions/action.ts'
import { fullName } from '../pod/container-kinds.ts'
import type { ContainerRecord, ContainerRuntime } from '../runtime/container-runtime.ts'

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
/** Runs one lifecycle hook to its end. Never throws; it knows no deadline: the caller decides how long to wait. */
export interface HookRunner {
  run(request: HookRequest): Promise<ActionResult>
}

const HOOK_USER_AGENT = 'kube-lifecycle/1.36'

export function createHookRunner(runtime: ContainerRuntime, actions: ActionHandler): HookRunner {
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
      // A command in the container cannot outlive it. A request and a pause are the kubelet's own, and go on.
      const life = handler.exec ? lifeOf(runtime, record.id) : undefined
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

function lifeOf(runtime: ContainerRuntime, containerId: string): { signal: AbortSignal; forget(): void } {
  const ended = new AbortController()
  const forget = runtime.onEvent((event) => {
    if (event.type === 'exited' && event.containerId === containerId) ended.abort()
  })
  return { signal: ended.signal, forget }
}

/** What a failed hook shows in its container's status. */
export function hookFailureMessage({ pod, container, handler }: HookRequest, result: ActionResult): string {
  const where = `for Container "${container.name}" in Pod "${fullName(pod)}" failed - error: ${result.message}`
  if (handler.exec) {
    return `Exec lifecycle hook ([${handler.exec.command?.join(' ')}]) ${where}, message: ${JSON.stringify(result.output)}`
  }
  if (handler.httpGet) return `HTTP lifecycle hook (${handler.httpGet.path ?? ''}) ${where}`
  if (handler.sleep) return `Sleep lifecycle hook (${handler.sleep.seconds}) ${where}`
  return result.message
}

/** As Go prints one of which nothing but a tcpSocket can be set: the other kinds can be run. */
function goHandler({ tcpSocket }: LifecycleHandler): string {
  const { port = 0, host = '' } = tcpSocket ?? {}
  const go = typeof port === 'number' ? `{0 ${port} }` : `{1 0 ${port}}`
  const tcp = tcpSocket ? `&TCPSocketAction{Port:${go},Host:${host},}` : 'nil'
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${tcp},Sleep:nil,}`
}
