import type { Container, PodSpec } from '../shared/api/types.ts'

/** Something that can be seen without running anything. */
export interface Finding {
  container: string
  problem: string
  remedy: string
}

type Check = (container: Container, spec: PodSpec) => Omit<Finding, 'container'> | undefined

const defaultGraceSeconds = 30
const reasonVariable = 'KUBE_POD_TERM_REASON'

const graceOf = ({ terminationGracePeriodSeconds }: PodSpec): number =>
  terminationGracePeriodSeconds ?? defaultGraceSeconds

const checks: readonly Check[] = [
  function hookLongerThanGrace({ lifecycle }, spec) {
    const seconds = lifecycle?.preStop?.sleep?.seconds
    if (seconds === undefined || seconds < graceOf(spec)) return undefined
    return {
      problem: `its preStop hook sleeps ${seconds} s, and all its grace is ${graceOf(spec)} s`,
      remedy: `make terminationGracePeriodSeconds more than ${seconds}, or the sleep shorter`,
    }
  },
  function reasonNobodyReads({ lifecycle }) {
    const hook = lifecycle?.preStop
    const variable = hook?.reasonDelivery?.env
    const command = hook?.exec?.command?.join(' ') ?? ''
    if (!variable || variable === reasonVariable || !command.includes(reasonVariable)) return undefined
    return {
      problem: `its preStop hook reads ${reasonVariable}, but reasonDelivery puts the reason into ${variable}`,
      remedy: `read ${variable}, or leave reasonDelivery.env out`,
    }
  },
  function probeGraceAbovePodGrace({ livenessProbe, startupProbe }, spec) {
    for (const [name, probe] of Object.entries({ livenessProbe, startupProbe })) {
      const seconds = probe?.terminationGracePeriodSeconds
      if (seconds === undefined || seconds <= graceOf(spec)) continue
      return {
        problem: `its ${name} gives ${seconds} s of grace, more than the ${graceOf(spec)} s of a deletion`,
        remedy: 'what is unwell should end sooner than what is well: make it less than terminationGracePeriodSeconds',
      }
    }
    return undefined
  },
  function shellThatSwallowsTerm({ command = [], args = [] }) {
    const [shell = '', option = '', script = ''] = [...command, ...args]
    const isShell = /(^|\/)(ba|da|a)?sh$/.test(shell) && /^-\w*c$/.test(option)
    const [last = ''] = script
      .trim()
      .split(/[\n;]|&&|\|\|/)
      .slice(-1)
    const isSeveral = /[\n;]|&&|\|\|/.test(script.trim())
    if (!isShell || /\btrap\b/.test(script) || /^\s*exec\s/.test(last) || !isSeveral || !startsPrograms(script))
      return undefined
    return {
      problem: 'its shell runs a program as a child and passes no signal on',
      remedy: "begin the script's last command with exec, or trap TERM",
    }
  },
]

/** A script of nothing but the shell's own words has no child to pass a signal to. */
const startsPrograms = (script: string): boolean =>
  /(^|[\n;&|]\s*)(?!(while|do|done|for|if|then|else|fi|:|echo|sleep|true)\b)[\w./-]+/.test(script)

/** What is wrong with a pod's manifest as far as its end is concerned. */
export function staticFindings(spec: PodSpec): Finding[] {
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap((container) =>
    checks.flatMap((check) => {
      const found = check(container, spec)
      return found ? [{ container: container.name, ...found }] : []
    }),
  )
}
