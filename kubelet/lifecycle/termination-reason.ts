import type { Pod, PreStopHandler } from '../../shared/api/types.ts'

/** Pod Termination Reason: how a preStop hook learns why its container must stop. */
export interface ReasonDelivery {
  /** The handler to run: its command, where that names the variable, has the reason in its place. */
  handler: PreStopHandler
  env: Record<string, string>
  headers: Record<string, string>
  /** What is wrong with the pod's wish; the default was used instead. */
  problem?: string
}

const DEFAULT_REASON_ENV = 'KUBE_POD_TERM_REASON'
const DEFAULT_REASON_HEADER = 'KUBE-POD-TERM-REASON'

/** The reason written on the object wins over the kubelet's own cause; undefined: nobody gave one. */
export const terminationReason = (pod: Pod, kubeletCause?: string): string | undefined =>
  pod.metadata.reason || kubeletCause || undefined

/** Without a reason nothing is delivered: the variable and the header are absent then, not empty. */
export function deliverReason(handler: PreStopHandler, reason: string | undefined): ReasonDelivery {
  const delivery: ReasonDelivery = { handler, env: {}, headers: {} }
  if (reason === undefined) return delivery
  const { env, header } = handler.reasonDelivery ?? {}
  const wish = handler.reasonDelivery && Object.values(handler.reasonDelivery).filter(Boolean)
  if (handler.exec) {
    if (wish && (wish.length !== 1 || !env)) delivery.problem = malformed('env', DEFAULT_REASON_ENV)
    const name = delivery.problem ? DEFAULT_REASON_ENV : (env ?? DEFAULT_REASON_ENV)
    delivery.env[name] = reason
    delivery.handler = {
      ...handler,
      exec: { command: handler.exec.command?.map((word) => asFlag(word, name, reason)) },
    }
  } else if (handler.httpGet) {
    if (wish && (wish.length !== 1 || !header)) delivery.problem = malformed('header', DEFAULT_REASON_HEADER)
    delivery.headers[delivery.problem ? DEFAULT_REASON_HEADER : (header ?? DEFAULT_REASON_HEADER)] = reason
  }
  return delivery
}

/**
 * `--reason=$(KUBE_POD_TERM_REASON)` in a hook's command: that name alone is replaced. All else stays as upstream runs it, since
 * `$(date)` and `$$` are code where the command is a shell. `$$(NAME)` is not a reference.
 */
const asFlag = (word: string, name: string, reason: string): string =>
  word.replace(/\$\$|\$\(([^)]*)\)/g, (found, named?: string) => (named === name ? reason : found))

const malformed = (wanted: string, fallback: string): string =>
  `lifecycle.preStop.reasonDelivery must set exactly "${wanted}" here; the reason is delivered as ${fallback}`
