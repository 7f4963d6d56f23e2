import { hookSleepSeconds } from '../../../shared/api/pods/hook-sleep.ts'
import { commandText, shellScript } from '../../../shared/api/pods/shell-form.ts'
import type { Container, Probe } from '../../../shared/api/types.ts'
import type { Finding } from '../report.ts'
import { podGraceSeconds, type Workload } from '../workload.ts'

const DEFAULT_VARIABLE = 'KUBE_POD_TERM_REASON'

interface Place {
  container: Container
  graceSeconds: number
}
/** Each looks at one container, and finds nothing, or one fault. */
type Check = (place: Place) => Omit<Finding, 'container'> | undefined

/** Returns the findings that need no running pod. */
export function checkManifest(workload: Workload): Finding[] {
  const { spec } = workload.template
  const graceSeconds = podGraceSeconds(workload)
  // Other init containers have ended by the time the pod is deleted.
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const containers = [...sidecars, ...spec.containers]
  return containers.flatMap((container) =>
    checks.flatMap((check) => {
      const found = check({ container, graceSeconds })
      return found ? [{ ...found, container: container.name }] : []
    }),
  )
}

const checks: Check[] = [
  hookLongerThanGrace,
  misdeliveredReason,
  unheardReason,
  probeGrace('livenessProbe'),
  probeGrace('startupProbe'),
  shellForm,
]

function hookLongerThanGrace({ container, graceSeconds }: Place): ReturnType<Check> {
  const seconds = hookSleepSeconds(container)
  if (seconds === undefined || seconds < graceSeconds) return undefined
  return {
    fault: 'hook-longer-than-grace',
    severity: 'bad',
    says: `its preStop hook sleeps for ${seconds} s of ${graceSeconds} s`,
    remedy: `raise terminationGracePeriodSeconds, or sleep less`,
  }
}

function misdeliveredReason({ container }: Place): ReturnType<Check> {
  const { exec, httpGet, reasonDelivery } = container.lifecycle?.preStop ?? {}
  if (!container.lifecycle?.preStop) return undefined
  const wrong = (says: string, remedy: string): ReturnType<Check> => ({
    fault: 'reason-delivery',
    severity: 'bad',
    says,
    remedy,
  })
  if (reasonDelivery) {
    const { env, header } = reasonDelivery
    if (!exec && !httpGet)
      return wrong('reasonDelivery has no hook to deliver to', 'only exec and httpGet hooks are told')
    if (exec && header !== undefined)
      return wrong('reasonDelivery names a header for a command', 'name a variable: env')
    if (httpGet && env !== undefined) return wrong('reasonDelivery names a variable for a request', 'name a header')
    if (!env && !header) return wrong('reasonDelivery is empty', exec ? 'name a variable: env' : 'name a header')
  }
  const told = exec ? (reasonDelivery?.env ?? DEFAULT_VARIABLE) : undefined
  const [other] = told === undefined ? [] : variablesOfReason(container).filter((name) => name !== told)
  if (other === undefined || commandText(exec?.command).includes(told ?? '')) return undefined
  return wrong(`its hook looks at ${other}, but the reason comes as ${told}`, `read ${told}, or set reasonDelivery.env`)
}

/** Names that the hook's command uses, that are not set elsewhere, and that can only mean the reason. */
function variablesOfReason({ lifecycle, env = [], envFrom = [] }: Container): string[] {
  const text = commandText(lifecycle?.preStop?.exec?.command)
  const names = text.match(/\b[A-Z][A-Z0-9_]*_REASON\b(?!=)/g) ?? []
  const isSet = (name: string): boolean =>
    envFrom.length > 0 || text.includes(`${name}=`) || env.some((variable) => variable.name === name)
  return names.filter((name) => !isSet(name))
}

/** A hook that asks for a name of its own and never uses it. Of a program's own file nothing is known. */
function unheardReason({ container }: Place): ReturnType<Check> {
  const { exec, reasonDelivery } = container.lifecycle?.preStop ?? {}
  const name = reasonDelivery?.env
  if (!name || !exec || reasonDelivery?.header !== undefined) return undefined
  const text = commandText(exec.command)
  const isWrittenHere = (exec.command ?? []).some((word) => /\s/.test(word))
  if (!isWrittenHere || text.includes(name) || variablesOfReason(container).length > 0) return undefined
  return {
    fault: 'reason-unheard',
    severity: 'bad',
    says: `its hook gets the reason as ${name}, and never uses it`,
    remedy: `use $${name}, or leave reasonDelivery out`,
  }
}

function probeGrace(kind: 'livenessProbe' | 'startupProbe'): Check {
  return ({ container, graceSeconds }) => {
    const seconds = (container[kind] as Probe | undefined)?.terminationGracePeriodSeconds
    if (seconds === undefined || seconds <= graceSeconds) return undefined
    return {
      fault: 'probe-grace',
      severity: 'bad',
      says: `its ${kind} gives a container that hangs ${seconds} s, longer than a healthy one has (${graceSeconds} s)`,
      remedy: `set ${kind}.terminationGracePeriodSeconds below the pod's`,
    }
  }
}

function shellForm({ container }: Place): ReturnType<Check> {
  if (shellScript(container)?.swallowsSignals !== true) return undefined
  return {
    fault: 'shell-swallows-term',
    severity: 'note',
    says: 'its first process is a shell that neither traps TERM nor passes it on',
    remedy: 'begin the last command with exec',
  }
}
