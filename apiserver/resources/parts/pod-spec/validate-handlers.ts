/** Probes and lifecycle hooks: what they may do, and how a preStop hook is told the reason. */
import { deliveryHeaderProblem } from '../../../../shared/api/delivery-header.ts'
import type {
  Container,
  HTTPGetAction,
  LifecycleHandler,
  PodSpec,
  PreStopHandler,
  Probe,
} from '../../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { envVarName, httpHeaderName, portNumber } from '../../../validation/names.ts'
import { reject, validateNotNegative, validatePortNumOrName } from '../messages.ts'

interface Handler extends LifecycleHandler {
  grpc?: { port: number }
}
type Member = 'exec' | 'httpGet' | 'tcpSocket' | 'grpc' | 'sleep'

function validateHandler(
  handler: Handler,
  members: Member[],
  gracePeriodSeconds: number | undefined,
  path: string,
  errors: FieldErrors,
): void {
  const given = members.filter((member) => handler[member] !== undefined)
  for (const [index, member] of given.entries()) {
    const field = `${path}.${member}`
    if (index > 0) {
      errors.push(forbidden(field, 'may not specify more than 1 handler type'))
      continue
    }
    if (member === 'exec' && !handler.exec?.command?.length) errors.push(required(`${field}.command`))
    if (member === 'httpGet' && handler.httpGet) validateHttpGet(handler.httpGet, field, errors)
    if (member === 'tcpSocket' && handler.tcpSocket)
      validatePortNumOrName(handler.tcpSocket.port, `${field}.port`, errors)
    if (member === 'grpc' && handler.grpc)
      reject(errors, `${field}.port`, handler.grpc.port, portNumber(handler.grpc.port))
    if (member === 'sleep') validateSleep(handler.sleep?.seconds ?? 0, gracePeriodSeconds, field, errors)
  }
  if (given.length === 0) errors.push(required(path, 'must specify a handler type'))
}

function validateHttpGet(action: HTTPGetAction, path: string, errors: FieldErrors): void {
  if (!action.path) errors.push(required(`${path}.path`))
  validatePortNumOrName(action.port, `${path}.port`, errors)
  const schemes = ['HTTP', 'HTTPS']
  if (!schemes.includes(action.scheme ?? '')) errors.push(notSupported(`${path}.scheme`, action.scheme, schemes))
  for (const { name } of action.httpHeaders ?? []) reject(errors, `${path}.httpHeaders`, name, httpHeaderName(name))
}

function validateSleep(seconds: number, graceSeconds: number | undefined, path: string, errors: FieldErrors): void {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`
  errors.push(invalid(path, seconds, detail))
}

const probeMembers: Member[] = ['exec', 'httpGet', 'tcpSocket', 'grpc']
const hookMembers: Member[] = ['exec', 'httpGet', 'tcpSocket', 'sleep']

function validateProbe(probe: Probe, path: string, errors: FieldErrors): void {
  validateHandler(probe as Handler, probeMembers, undefined, path, errors)
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    validateNotNegative(probe[name], `${path}.${name}`, errors)
  }
  const grace = probe.terminationGracePeriodSeconds
  if (grace !== undefined && grace <= 0) {
    errors.push(invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'))
  }
}

function validateKillingProbe(probe: Probe | undefined, path: string, errors: FieldErrors): void {
  if (!probe) return
  validateProbe(probe, path, errors)
  if (probe.successThreshold !== 1) {
    errors.push(invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1'))
  }
}

function validateReadinessProbe(probe: Probe | undefined, path: string, errors: FieldErrors): void {
  if (!probe) return
  validateProbe(probe, path, errors)
  const grace = probe.terminationGracePeriodSeconds
  if (grace !== undefined) {
    errors.push(invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'))
  }
}

/** Hooks and probes of a container that may have them, in upstream's order. */
export function validateLifecycleAndProbes(
  container: Container,
  { terminationGracePeriodSeconds: gracePeriodSeconds, os }: PodSpec,
  path: string,
  errors: FieldErrors,
): void {
  const { lifecycle } = container
  if (lifecycle?.postStart) {
    validateHandler(lifecycle.postStart, hookMembers, gracePeriodSeconds, `${path}.lifecycle.postStart`, errors)
  }
  if (lifecycle?.preStop) {
    validateHandler(lifecycle.preStop, hookMembers, gracePeriodSeconds, `${path}.lifecycle.preStop`, errors)
    validateReasonDelivery(lifecycle.preStop, `${path}.lifecycle.preStop.reasonDelivery`, errors)
  }
  if (lifecycle?.stopSignal !== undefined)
    validateStopSignal(lifecycle.stopSignal, os?.name, `${path}.lifecycle.stopSignal`, errors)
  validateKillingProbe(container.livenessProbe, `${path}.livenessProbe`, errors)
  validateReadinessProbe(container.readinessProbe, `${path}.readinessProbe`, errors)
  validateKillingProbe(container.startupProbe, `${path}.startupProbe`, errors)
}

const realTime = [
  'SIGRTMIN',
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${index + 1}`),
  'SIGRTMAX',
]
const ordinary =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ'
const stopSignals: Record<string, string[]> = {
  linux: [...ordinary.split(' ').map((name) => `SIG${name}`), ...realTime].sort(),
  windows: ['SIGKILL', 'SIGTERM'],
}

/** Refuses a signal that the pod's operating system does not have. */
function validateStopSignal(signal: string, os: string | undefined, path: string, errors: FieldErrors): void {
  const supported = stopSignals[os ?? '']
  if (os === undefined) errors.push(forbidden(path, 'may not be set for containers with empty `spec.os.name`'))
  else if (supported && !supported.includes(signal)) errors.push(notSupported(path, signal, supported))
}

function validateReasonDelivery(hook: PreStopHandler, path: string, errors: FieldErrors): void {
  const delivery = hook.reasonDelivery
  if (!delivery) return
  const { env, header } = delivery
  for (const handler of ['tcpSocket', 'sleep'] as const) {
    if (hook[handler]) errors.push(forbidden(path, `may not be set for ${handler} handlers`))
  }
  if (hook.exec && header !== undefined) errors.push(forbidden(`${path}.header`, 'may not be set for exec handlers'))
  if (hook.httpGet && env !== undefined) errors.push(forbidden(`${path}.env`, 'may not be set for httpGet handlers'))
  if (env !== undefined && header !== undefined) {
    errors.push(invalid(path, delivery, 'exactly one of `env` and `header` may be set'))
  }
  if (env !== undefined) reject(errors, `${path}.env`, env, envVarName(env))
  const problem = header === undefined ? undefined : deliveryHeaderProblem(header)
  if (problem) errors.push(invalid(`${path}.header`, header, problem))
}
