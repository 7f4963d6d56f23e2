import { shellScript } from '../../../shared/api/pods/shell-form.ts'
import { type Fault, type Finding, worstFirst } from '../report.ts'
import type { Way } from '../ways.ts'
import { podGraceSeconds, type Workload } from '../workload.ts'
import { type Observation, type Stop, stopsOf } from './observation.ts'
import type { Thresholds } from './thresholds.ts'

interface Judged {
  stop: Stop
  workload: Workload
  thresholds: Thresholds
}
interface Rule {
  fault: Fault
  when(judged: Judged): boolean
  says(judged: Judged): string
  remedy?(judged: Judged): string
}

const shown = (seconds: number): string => (seconds < 10 ? seconds.toFixed(1) : String(Math.round(seconds)))
const requests = (count: number): string => `${count} request${count === 1 ? '' : 's'}`
const byDefault = ({ stop: { asked, killed, exitCode } }: Judged): boolean =>
  asked?.disposition === 'Default' && (killed || exitCode === 143)
const isShell = ({ workload, stop }: Judged): boolean =>
  workload.template.spec.containers.some(
    (container) => container.name === stop.name && shellScript(container) !== undefined,
  )
const limit = ({ stop, thresholds }: Judged): number => (stop.graceSeconds * thresholds.maxGraceUsed) / 100
const overrun = ({ stop }: Judged): boolean => stop.hook?.outcome === 'TimedOut'
const signal = ({ stop }: Judged): string => stop.asked?.signal ?? 'TERM'
const raise = 'raise terminationGracePeriodSeconds'

/** Judges how one container was stopped. Each rule that applies makes a finding. */
const rules: Rule[] = [
  {
    fault: 'hook-without-listener',
    when: ({ stop }) => stop.hook?.outcome === 'Failed' && isRefused(stop.hook.message),
    says: () => 'nothing listens where its preStop hook asks',
    remedy: () => 'listen on that port before the container is ready, and until TERM',
  },
  {
    fault: 'hook-fails',
    when: ({ stop }) => stop.hook?.outcome === 'Failed' && !isRefused(stop.hook.message),
    says: ({ stop }) => `its preStop hook fails (${whyHookFailed(stop)})`,
    remedy: () => 'fix the hook: TERM is sent anyway, so its work is skipped',
  },
  {
    fault: 'hook-overruns',
    when: overrun,
    says: ({ stop }) => `its preStop hook uses all of ${stop.graceSeconds} s, and leaves none for TERM`,
    remedy: () => `let the hook end sooner, or ${raise}`,
  },
  {
    fault: 'hook-uses-most',
    when: (judged) => judged.stop.hook?.outcome === 'Succeeded' && judged.stop.hook.seconds > limit(judged),
    says: ({ stop }) => `its hook uses ${shown(stop.hook?.seconds ?? 0)} s of ${stop.graceSeconds} s`,
    remedy: () => `let the hook end sooner, or ${raise}`,
  },
  {
    fault: 'shell-swallows-term',
    when: (judged) => byDefault(judged) && isShell(judged),
    says: (judged) => `the shell that is its PID 1 swallows ${signal(judged)}`,
    remedy: () => 'begin the last command with exec, if that one handles it; or trap it, pass it on, wait, and exit 0',
  },
  {
    fault: 'no-term-handler',
    when: (judged) => byDefault(judged) && !isShell(judged),
    says: (judged) => `ignores ${signal(judged)}: PID 1 has no handler`,
    remedy: () => 'add one; use exec form or an init',
  },
  {
    fault: 'ignores-term',
    when: ({ stop }) => stop.killed && stop.asked?.disposition === 'Ignored',
    says: (judged) => `asked not to get ${signal(judged)}, and is killed at the deadline`,
    remedy: () => 'handle it instead of ignoring it; a program inherits this from a parent that ignores it (nohup)',
  },
  {
    fault: 'goes-on-after-term',
    when: (judged) => {
      const { killed, asked } = judged.stop
      return killed && !overrun(judged) && !['Default', 'Ignored'].includes(asked?.disposition ?? '')
    },
    says: (judged) => `gets ${signal(judged)} but goes on, and is killed after ${judged.stop.graceSeconds} s`,
    remedy: (judged) =>
      isShell(judged)
        ? 'let its trap exit; a shell runs that when its command has ended: run a long one with & and wait'
        : `end the process in a handler of your own (Node's does not end PID 1) or use an init, or ${raise}`,
  },
  {
    fault: 'slow-stop',
    when: (judged) => {
      const { killed, usedSeconds, hook } = judged.stop
      return !killed && !overrun(judged) && usedSeconds > limit(judged) && !(hook && hook.seconds > limit(judged))
    },
    says: ({ stop }) => `needs ${shown(stop.usedSeconds)} s of ${stop.graceSeconds} s`,
    remedy: () => `end sooner, or ${raise}`,
  },
  {
    fault: 'exits-143',
    when: (judged) => judged.stop.exitCode === 143 && !byDefault(judged) && isForbidden(judged),
    says: () => 'exits 143, as if TERM had killed it',
    remedy: () => 'exit 0 from the handler, or the pod counts as failed',
  },
  {
    fault: 'exits-non-zero',
    when: (judged) => !judged.stop.killed && judged.stop.exitCode !== 143 && isForbidden(judged),
    says: ({ stop }) => `exits ${stop.exitCode}`,
    remedy: () => 'exit 0 where all went well, or the pod counts as failed',
  },
]

/** Requests that are sent in the last moment have to be let in before the end. */
const SLEEP_MARGIN_SECONDS = 0.5

function isForbidden({ stop: { exitCode }, thresholds }: Judged): boolean {
  return exitCode !== undefined && !thresholds.allowedExitCodes.includes(exitCode)
}
const isRefused = (message = ''): boolean => /ECONNREFUSED|connection refused/i.test(message)

function whyHookFailed({ hook }: Stop): string {
  if (hook?.httpStatus !== undefined) return `HTTP status ${hook.httpStatus}`
  return hook?.exitCode === undefined
    ? (hook?.message?.split('\n')[0] ?? 'it could not be run')
    : `exit code ${hook.exitCode}`
}

/** Returns the findings of one death, the worst first. */
export function judge(way: Way, workload: Workload, seen: Observation, thresholds: Thresholds): Finding[] {
  const stops = stopsOf(seen)
  const ofContainers = stops.flatMap((stop) =>
    rules.flatMap(({ fault, when, says, remedy }): Finding[] => {
      const judged = { stop, workload, thresholds }
      if (!when(judged)) return []
      const container = stops.length > 1 ? stop.name : undefined
      return [{ fault, severity: 'bad', container, says: says(judged), remedy: remedy?.(judged) }]
    }),
  )
  const all = [...ofContainers, ...judgePod(way, workload, seen, { stops, thresholds })]
  const meant = all.filter(({ fault }) => way.judges?.includes(fault) ?? true)
  const isMild = ({ fault }: Finding): boolean => way.mild === 'all' || (way.mild?.includes(fault) ?? false)
  return worstFirst(meant.map((finding) => (isMild(finding) ? { ...finding, severity: 'note' } : finding)))
}

function judgePod(
  way: Way,
  workload: Workload,
  { load, children = [], comesBack = true }: Observation,
  { stops, thresholds }: { stops: Stop[]; thresholds: Thresholds },
): Finding[] {
  const found: Finding[] = []
  const add = (fault: Fault, says: string, remedy: string): void =>
    void found.push({ fault, severity: 'bad', says, remedy })
  // Programs that would ignore TERM as PID 1 are found by other ways; here it is not PID 1.
  const hears = stops.every(({ asked }) => asked?.disposition !== 'Default')
  if (hears && children.length > 0) {
    const names = [...new Set(children)].join(', ')
    add(
      'leaves-children',
      `ends before its own children (${names}), which are killed with it`,
      'pass TERM on, and wait for them',
    )
  }
  if (load && load.lost > thresholds.maxLostRequests) {
    const seconds = Math.ceil((load.missingSeconds ?? 0) + SLEEP_MARGIN_SECONDS)
    const hook = workload.template.spec.containers.some(({ lifecycle }) => lifecycle?.preStop?.sleep)
    const remedy = hook ? `let its sleep hook take about ${seconds} s more` : `add a sleep hook of about ${seconds} s`
    add('stops-too-soon', `stops before the endpoint is gone, and loses ${requests(load.lost)}`, remedy)
  }
  // A program that stops too soon also resets connections that wait to be accepted: that is not a fault of its own.
  const letDown = load && load.lost > thresholds.maxLostRequests ? load.lost : thresholds.maxLostRequests
  if (load && load.cut > letDown)
    add('cuts-requests', `cuts ${requests(load.cut)} under way`, 'after TERM take no more, and answer those first')
  if (!comesBack)
    add(
      'does-not-come-back',
      'does not come back after a restart',
      'start also where an earlier instance left its traces',
    )
  const downtime = way.livenessDowntime?.(workload, Math.max(0, ...stops.map(({ usedSeconds }) => usedSeconds)))
  if (downtime !== undefined && downtime * 1000 > thresholds.maxLivenessDowntime) {
    const says = `hangs for ${shown(downtime)} s until the liveness probe has ended it`
    add('slow-liveness-death', says, 'probe more often, or let fewer probes fail; or end sooner')
  }
  const graceSeconds = podGraceSeconds(workload)
  const [longest] = stops.toSorted((a, b) => b.usedSeconds - a.usedSeconds)
  const endsByItself = stops.every(({ killed, hook }) => !killed && hook?.outcome !== 'TimedOut')
  if (way.measuresGrace && endsByItself && longest && longest.usedSeconds > graceSeconds) {
    const wanted = Math.ceil((longest.usedSeconds * 100) / thresholds.maxGraceUsed)
    const says = `needs ${shown(longest.usedSeconds)} s, and has ${graceSeconds} s`
    add('grace-too-short', says, `set terminationGracePeriodSeconds to ${wanted}`)
  }
  return found
}
